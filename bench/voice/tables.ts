import type { Delays } from '../harness/measure.ts'
import type { Saved } from '../harness/part.ts'
import { delayCell, grouped, linesTable, megabytes, number, type Table, times } from '../harness/report.ts'
import type { Spoken } from './figures.ts'
import type { PartFigure } from './parts.ts'
import type { Split, Splitting } from './sentences.ts'

export interface VoiceResults extends Saved {
  readonly sentences?: Splitting
  readonly speaking?: readonly Spoken[]
  readonly parts?: readonly PartFigure[]
}

const howToInstall = 'npm install --prefix bench --no-save @livekit/agents'

function sentencesTable({ pieceChars, chars: lengths, mostMs, cases, splitters }: Splitting): Table {
  const [floor] = splitters
  const cell = (split: Split, at: number) => {
    const ms = split.texts[at]?.ms
    const base = floor?.texts[at]?.ms
    return ms === undefined ? '–' : `${number(ms)} ms${base && split !== floor ? ` ${times(ms / base)}` : ''}`
  }
  const perSecond = ({ texts }: Split) => {
    const last = texts.at(-1)
    return last ? grouped((last.chars / last.ms) * 1000) : '–'
  }
  const hasPeer = splitters.some(({ name }) => name === 'livekit')
  return {
    title: `Sentences of a text in pieces of ${pieceChars} characters`,
    head: [
      '',
      ...lengths.map((chars) => `${grouped(chars)} characters`),
      'characters per second',
      `right of ${cases} cases, whole text`,
      'in pieces',
    ],
    rows: splitters.map((split) => ({
      ours: split.name === 'ours',
      cells: [
        split.title,
        ...lengths.map((_, at) => cell(split, at)),
        perSecond(split),
        grouped(split.right.whole),
        grouped(split.right.streamed),
      ],
    })),
    notes: [
      ...splitters
        .filter(({ texts }) => texts.length < lengths.length)
        .map(({ title }) => `${title}: a longer text took more than ${mostMs / 1000} s`),
      ...(hasPeer ? [] : [`LiveKit's splitter is not installed: \`${howToInstall}\` (280 MB)`]),
    ],
  }
}

/** A scenario, and the one without a voice, if it was measured too. */
interface Played extends Spoken {
  readonly silent: Spoken | undefined
}

const ratios = (words: Delays | undefined, to: Delays | undefined) =>
  words && to && `${times(words.p50 / to.p50)}, ${times(words.p99 / to.p99)}`
const heardOnly = (spoken: Spoken, cell: string | undefined) => (spoken.turns > 0 ? cell : undefined)

const lines: readonly { readonly label: string; cell(spoken: Played): string | undefined }[] = [
  { label: 'threads, reading clients', cell: ({ threads, readers }) => `${threads}, ${readers}` },
  { label: 'a word, from model to reader: p50 / p99 / max', cell: ({ words }) => delayCell(words) },
  { label: 'the same in unspoken threads', cell: ({ unspoken }) => delayCell(unspoken) },
  {
    label: 'as a multiple of unspoken threads: p50, p99',
    cell: ({ words, unspoken }) => ratios(words, unspoken),
  },
  {
    label: 'as a multiple of no voice: p50, p99',
    cell: ({ words, silent }) => ratios(words, silent?.words),
  },
  {
    label: 'turns heard to the end, most at once',
    cell: (spoken) => heardOnly(spoken, `${spoken.turns}, ${spoken.atOnce}`),
  },
  {
    label: 'first audio, since the end of the first sentence',
    cell: ({ firstAudio }) => delayCell(firstAudio),
  },
  {
    label: 'turns with audio before the second sentence ended',
    cell: (spoken) => heardOnly(spoken, `${spoken.early} of ${spoken.turns}`),
  },
  {
    label: 'most audio buffered at a client',
    cell: (spoken) => heardOnly(spoken, `${number(spoken.aheadMs / 1000)} s`),
  },
  { label: 'silence in a turn, at the client', cell: ({ silence }) => delayCell(silence.played) },
  { label: 'silence in a turn, in the record', cell: ({ silence }) => delayCell(silence.recorded) },
  {
    label: 'cores: server, clients',
    cell: ({ cores }) => `${cores.server.toFixed(2)}, ${cores.clients.toFixed(2)}`,
  },
  { label: "delay of the server's timers", cell: ({ late }) => delayCell(late) },
  {
    label: "server's memory: start / peak / end",
    cell: ({ memory }) => `${megabytes(memory.start)} / ${megabytes(memory.peak)} / ${megabytes(memory.end)}`,
  },
  { label: 'growth of the heap', cell: ({ memory }) => megabytes(memory.held) },
  {
    label: 'lost, repeated or out of order',
    cell: ({ faults }) => (faults.length === 0 ? 'nothing' : `${faults.length} faults`),
  },
]

function speakingTable(scenarios: readonly Spoken[]): Table {
  const silent = scenarios.find(({ scenario }) => scenario === 'silent')
  const played = scenarios.map((scenario) => ({ title: scenario.title, of: { ...scenario, silent } }))
  return linesTable(`${scenarios[0]?.threads ?? 0} spoken threads at once`, played, lines)
}

function partsTable(parts: readonly PartFigure[]): Table {
  const unit = (value: number, of: PartFigure['unit']) => (of === '×' ? times(value) : `${number(value)} ms`)
  return {
    title: 'Speech packages from npm',
    head: ['', 'median (min–max)'],
    rows: parts.map(({ title, unit: of, figures }) => ({
      ours: false,
      cells: [
        title,
        figures ? `${unit(figures.median, of)} (${number(figures.low)}–${number(figures.high)})` : '–',
      ],
    })),
    notes: parts.flatMap(({ title, leftOut }) =>
      leftOut === undefined ? [] : [`${title}: left out, ${leftOut}`],
    ),
  }
}

export const tablesOf = ({ sentences, speaking, parts }: VoiceResults): Table[] => [
  ...(sentences ? [sentencesTable(sentences)] : []),
  ...(speaking ? [speakingTable(speaking)] : []),
  ...(parts ? [partsTable(parts)] : []),
]
