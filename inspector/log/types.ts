import type { Entry } from 'millrace/client'

// The log as a person looks at it: what the chat shows, and how each run went. Everything here is changed in place as entries
// come, so that an entry costs the same however long the log is. Whatever is shown has a `version` that grows when it changes.

type Event<Type extends Entry['event']['type']> = Extract<Entry['event'], { readonly type: Type }>

type InputEvent = Event<'input'>
export type UserMessage = InputEvent['message']
export type ToolResult = Event<'tool-result'>
type RoundEnd = Event<'round-end'>
type RunEnd = Event<'run-end'>
type RoundRetry = Event<'round-retry'>
type ApprovalRequest = Event<'approval-request'>
type Decision = Event<'approval'>
type JsonObject = ApprovalRequest['input']
export type Usage = RunEnd['usage']
export type Outcome = RunEnd['outcome']
export type Failure = NonNullable<RunEnd['error']>

/** Text that grows: pieces are only ever added, so whoever shows it remembers how many it has shown. */
export interface Growing {
  readonly pieces: string[]
  chars: number
  /** Nothing more is added. */
  closed: boolean
}

interface Shown {
  /** One of its own in the whole log. */
  readonly key: string
  version: number
}

/** Something a person said. */
export interface SaidRow extends Shown {
  readonly kind: 'said'
  readonly seq: number
  readonly at: number
  readonly message: UserMessage
  readonly mode: InputEvent['mode']
  /** Undefined until a run has heard it. */
  run: Run | undefined
  /** A stop came before anybody heard it: nothing is begun for it. */
  held: boolean
}

/** What the model says or thinks, up to the next call or the end of the part. */
export interface TextRow extends Shown {
  readonly kind: 'text' | 'reasoning'
  readonly round: Round
  readonly seq: number
  /** When the first piece came, or somewhat earlier, and the last. */
  readonly at: number
  endedAt: number
  readonly text: Growing
  /** How many characters of it were heard, where it was spoken and cut off. */
  heard: number | undefined
}

export interface CallRow extends Shown {
  readonly kind: 'call'
  readonly call: Call
}

/** Something that happened and that a reader of the chat should know of, in one line. */
export interface NoticeRow extends Shown {
  readonly kind: 'notice'
  readonly notice: 'retract' | 'retry' | 'taken-over' | 'summary' | 'repairs' | 'correction'
  readonly at: number
  readonly seq: number
  readonly text: string
  /** More of it, for those who open it. */
  readonly detail?: string
}

/** The end of a run, with what can be done about it. */
export interface EndRow extends Shown {
  readonly kind: 'end'
  readonly run: Run
  readonly seq: number
  readonly at: number
}

export type Row = SaidRow | TextRow | CallRow | NoticeRow | EndRow

/** A run, with all that it went on as after its process was lost or a person had decided. */
export interface Run {
  /** That of its first leg. */
  readonly id: string
  readonly agent: string
  /** The number of its first `run-start`: a fork at the one before answers its inputs anew. */
  readonly seq: number
  lastSeq: number
  readonly startedAt: number
  /** That of its last entry so far. */
  lastAt: number
  readonly said: SaidRow[]
  /** Each is a process that worked on it: the first, and one for each time it was taken up again. */
  readonly legs: Leg[]
  /** In the order in which they began; one that was retracted stays here. */
  readonly rounds: Round[]
  /** Of all rounds, in the order in which they were begun. */
  readonly calls: Call[]
  /** Undefined while it goes on. `suspended`: it waits for a person. */
  outcome: Outcome | undefined
  /** Of its rounds so far. */
  usage: Usage
  error: Failure | undefined
  version: number
}

export interface Leg {
  readonly runId: string
  readonly seq: number
  readonly at: number
  endedAt: number | undefined
  outcome: Outcome | undefined
  /** `lost`: the process before it was; `person`: it went on after a decision. */
  readonly why: 'first' | 'lost' | 'person'
  readonly losses: number
}

export interface Round {
  readonly run: Run
  /** The id of the leg that told it, under which its exchanges are kept. */
  readonly runId: string
  readonly number: number
  model: string
  readonly seq: number
  readonly startedAt: number
  /** When the first word, thought or call came. */
  firstAt: number | undefined
  endedAt: number | undefined
  readonly heard: SaidRow[]
  readonly retries: { readonly at: number; readonly retry: RoundRetry }[]
  retracted: { readonly at: number; readonly reason: string } | undefined
  /** What it said and thought, in order, also if it was retracted. */
  readonly texts: TextRow[]
  readonly calls: Call[]
  end: RoundEnd | undefined
  version: number
}

/** A call of a tool: first its arguments arrive, then it may wait (for its turn or a person), then it runs. */
export interface Call {
  readonly callId: string
  readonly name: string
  readonly round: Round
  readonly seq: number
  /** When its arguments began to arrive, were closed, it was started (the last time) and had its result. */
  readonly begunAt: number
  closedAt: number | undefined
  startedAt: number | undefined
  endedAt: number | undefined
  /** The arguments as they are written. */
  readonly raw: Growing
  /** Once they are closed. */
  input: JsonObject | undefined
  /** What it was run with, where a person or a hook changed it. */
  changed: JsonObject | undefined
  /** Why it cannot be run as the model wrote it. */
  problem: string | undefined
  attempts: number
  /** The rule that let it pass, asked a person or kept it from running. */
  rule: string | undefined
  /** The end of what it has printed so far, if that is what it reports. */
  printed: string
  /** The last, of at most a few kept. */
  readonly progress: unknown[]
  progressCount: number
  /** Its own, and those of calls inside its sub-agent (`call_1/call_7`). */
  readonly approvals: Approval[]
  /** What its sub-agent does, as a log of its own. */
  inner: Log | undefined
  result: ToolResult | undefined
  /** It is run by the provider itself. */
  provider: { input?: unknown; output?: unknown; isError?: boolean } | undefined
  version: number
}

export interface Approval {
  readonly request: ApprovalRequest
  readonly at: number
  decision: Decision | undefined
  decidedAt: number | undefined
}

export interface Log {
  /** All, as they came. */
  readonly entries: Entry[]
  /** The chat, without what was retracted. */
  readonly rows: Row[]
  /** What was said and no run has heard yet; shown below the chat. */
  waiting: SaidRow[]
  readonly runs: Run[]
  /** The number of the last entry; 0 if there is none. */
  head: number
  usage: Usage
  version: number
  readonly open: Open
}

/** What the next entry may belong to. */
interface Open {
  /** The log of a sub-agent has no people around it. */
  readonly inner: boolean
  run: Run | undefined
  round: Round | undefined
  text: TextRow | undefined
  readonly calls: Map<string, Call>
  /** Where the rows of the round begin. */
  rowsFrom: number
}
