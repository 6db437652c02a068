import type { Spread } from '../load/histogram.ts'
import { number, times } from '../report/format.ts'
import { markdownTable } from '../report/markdown.ts'
import type { Table } from '../report/tables.ts'
import { printedTable } from '../report/terminal.ts'
import { howToInstall } from './livekit.ts'
import type { PartFigure } from './parts.ts'
import type { Mode } from './size.ts'
import type { Split, Splitting } from './splitting.ts'
import type { Spoken } from './spoken.ts'

/** What `results.json` holds. */
export interface VoiceResults {
  readonly version: 1
  readonly date: string
  readonly mode: Mode
  readonly node: string
  readonly machine: string
  readonly packages: Readonly<Record<string, string>>
  readonly sentences?: Splitting
  readonly speaking?: readonly Spoken[]
  readonly parts?: readonly PartFigure[]
}

const count = (value: number) => Math.round(value).toLocaleString('en')
const mb = (bytes: number) => `${number(bytes / 2 ** 20)} MB`
const spread = (ms: Spread | undefined) =>
  ms && `${number(ms.p50)} / ${number(ms.p99)} / ${number(ms.max)} ms`

function sentencesTable({ pieceChars, chars: lengths, mostMs, cases, splitters }: Splitting): Table {
  const [floor] = splitters
  const cell = (split: Split, at: number) => {
    const ms = split.texts[at]?.ms
    const base = floor?.texts[at]?.ms
    return ms === undefined ? '–' : `${number(ms)} ms${base && split !== floor ? ` ${times(ms / base)}` : ''}`
  }
  const perSecond = ({ texts }: Split) => {
    const last = texts.at(-1)
    return last ? count((last.chars / last.ms) * 1000) : '–'
  }
  const hasPeer = splitters.some(({ name }) => name === 'livekit')
  return {
    title: `Sentences of a text that comes in pieces of ${pieceChars} characters`,
    head: [
      '',
      ...lengths.map((chars) => `${count(chars)} characters`),
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
        count(split.right.whole),
        count(split.right.streamed),
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

interface Line {
  readonly label: string
  cell(spoken: Spoken, silent: Spoken | undefined): string | undefined
}

const ratios = (words: Spread | undefined, to: Spread | undefined) =>
  words && to && `${times(words.p50 / to.p50)}, ${times(words.p99 / to.p99)}`
const heardOnly = (spoken: Spoken, cell: string | undefined) => (spoken.turns > 0 ? cell : undefined)

const lines: readonly Line[] = [
  { label: 'threads, clients that read', cell: ({ threads, readers }) => `${threads}, ${readers}` },
  { label: 'a word, from model to reader: p50 / p99 / most', cell: ({ words }) => spread(words) },
  { label: 'the same in threads beside them', cell: ({ beside }) => spread(beside) },
  {
    label: 'as a multiple of those beside them: p50, p99',
    cell: ({ words, beside }) => ratios(words, beside),
  },
  {
    label: 'as a multiple of no voice: p50, p99',
    cell: ({ words }, silent) => ratios(words, silent?.words),
  },
  {
    label: 'turns heard to the end, most at once',
    cell: (spoken) => heardOnly(spoken, `${spoken.turns}, ${spoken.atOnce}`),
  },
  { label: 'first audio, since the first sentence was over', cell: ({ firstAudio }) => spread(firstAudio) },
  {
    label: 'turns with audio before the second was said',
    cell: (spoken) => heardOnly(spoken, `${spoken.early} of ${spoken.turns}`),
  },
  {
    label: 'most audio that waited at a client',
    cell: (spoken) => heardOnly(spoken, `${number(spoken.aheadMs / 1000)} s`),
  },
  { label: 'silence in a turn, at the client', cell: ({ silence }) => spread(silence.played) },
  { label: 'silence in a turn, on record', cell: ({ silence }) => spread(silence.recorded) },
  {
    label: 'cores: server, clients',
    cell: ({ cores }) => `${cores.server.toFixed(2)}, ${cores.clients.toFixed(2)}`,
  },
  { label: "server's timers, late by", cell: ({ late }) => spread(late) },
  {
    label: "server's memory: at first / most / at last",
    cell: ({ memory }) => `${mb(memory.start)} / ${mb(memory.peak)} / ${mb(memory.end)}`,
  },
  { label: 'held more at last than at first', cell: ({ memory }) => mb(memory.held) },
  {
    label: 'lost, repeated or out of order',
    cell: ({ faults }) => (faults.length === 0 ? 'nothing' : `${faults.length} faults`),
  },
]

function speakingTable(scenes: readonly Spoken[]): Table {
  const silent = scenes.find(({ scene }) => scene === 'silent')
  return {
    title: `${scenes[0]?.threads ?? 0} threads that are spoken at once`,
    head: ['', ...scenes.map(({ title }) => title)],
    rows: lines.map(({ label, cell }) => ({
      ours: false,
      cells: [label, ...scenes.map((scene) => cell(scene, silent) ?? '–')],
    })),
    notes: scenes.flatMap(({ title, faults }) => faults.slice(0, 10).map((fault) => `${title}: ${fault}`)),
  }
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

const tablesOf = ({ sentences, speaking, parts }: VoiceResults): Table[] => [
  ...(sentences ? [sentencesTable(sentences)] : []),
  ...(speaking ? [speakingTable(speaking)] : []),
  ...(parts ? [partsTable(parts)] : []),
]

function about({ mode, date, node, machine, packages }: VoiceResults): string {
  const beside = Object.entries(packages).map(([name, version]) => `, ${name} ${version}`)
  return `A ${mode} run of ${date}, Node ${node.replace('v', '')}${beside.join('')}, ${machine}.`
}

export const markdown = (results: VoiceResults) =>
  [about(results), ...tablesOf(results).map(markdownTable)].join('\n\n')

export const printed = (results: VoiceResults) =>
  `\nVoice. ${about(results)}\n${tablesOf(results).map(printedTable).join('')}\n`

const opening = '<!-- voice -->'
const closing = '<!-- /voice -->'

/** The page with new results; undefined if it has no place for them. */
export function withVoice(page: string, text: string): string | undefined {
  const start = page.indexOf(opening)
  const end = page.indexOf(closing)
  if (start < 0 || end < start) return undefined
  return `${page.slice(0, start + opening.length)}\n\n${text}\n\n${page.slice(end)}`
}
