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
    title: `Sentences of a text that comes in pieces of ${pieceChars} characters`,
    head: [
      '',
      ...lengths.map((chars) => `${grouped(chars)} characters`),
      'characters a second',
      `right of ${cases} cases, whole`,
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
        .map(({ title }) => `${title}: was not done with a longer text after ${mostMs / 1000} s`),
      ...(hasPeer ? [] : [`LiveKit's splitter is left out; \`${howToInstall}\` (280 MB) puts it in`]),
    ],
  }
}

/** A scene, and the one without a voice, if it was played too. */
interface Played extends Spoken {
  readonly silent: Spoken | undefined
}

const ratios = (words: Delays | undefined, to: Delays | undefined) =>
  words && to && `${times(words.p50 / to.p50)}, ${times(words.p99 / to.p99)}`
const heardOnly = (spoken: Spoken, cell: string | undefined) => (spoken.turns > 0 ? cell : undefined)

const lines: readonly { readonly label: string; cell(spoken: Played): string | undefined }[] = [
  { label: 'threads, clients that read', cell: ({ threads, readers }) => `${threads}, ${readers}` },
  { label: 'a word, from model to reader: p50 / p99 / most', cell: ({ words }) => delayCell(words) },
  { label: 'the same in threads beside them', cell: ({ beside }) => delayCell(beside) },
  {
    label: 'as a multiple of those beside them: p50, p99',
    cell: ({ words, beside }) => ratios(words, beside),
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
    label: 'first audio, since the first sentence was over',
    cell: ({ firstAudio }) => delayCell(firstAudio),
  },
  {
    label: 'turns with audio before the second was said',
    cell: (spoken) => heardOnly(spoken, `${spoken.early} of ${spoken.turns}`),
  },
  {
    label: 'most audio that waited at a client',
    cell: (spoken) => heardOnly(spoken, `${number(spoken.aheadMs / 1000)} s`),
  },
  { label: 'silence in a turn, at the client', cell: ({ silence }) => delayCell(silence.played) },
  { label: 'silence in a turn, on record', cell: ({ silence }) => delayCell(silence.recorded) },
  {
    label: 'cores: server, clients',
    cell: ({ cores }) => `${cores.server.toFixed(2)}, ${cores.clients.toFixed(2)}`,
  },
  { label: "server's timers, late by", cell: ({ late }) => delayCell(late) },
  {
    label: "server's memory: at first / most / at last",
    cell: ({ memory }) => `${megabytes(memory.start)} / ${megabytes(memory.peak)} / ${megabytes(memory.end)}`,
  },
  { label: 'held more at last than at first', cell: ({ memory }) => megabytes(memory.held) },
  {
    label: 'lost, repeated or out of order',
    cell: ({ faults }) => (faults.length === 0 ? 'nothing' : `${faults.length} faults`),
  },
]

function speakingTable(scenes: readonly Spoken[]): Table {
  const silent = scenes.find(({ scene }) => scene === 'silent')
  const played = scenes.map((scene) => ({ title: scene.title, of: { ...scene, silent } }))
  return linesTable(`${scenes[0]?.threads ?? 0} threads that are spoken at once`, played, lines)
}

function partsTable(parts: readonly PartFigure[]): Table {
  const unit = (value: number, of: PartFigure['unit']) => (of === '×' ? times(value) : `${number(value)} ms`)
  return {
    title: 'The voice and the ears that come from npm',
    head: ['', 'median (least–most)'],
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
