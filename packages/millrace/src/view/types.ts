import type {
  ApprovalEvent,
  ApprovalRequestEvent,
  CallStatus,
  Entry,
  ErrorJson,
  InputEvent,
  JsonObject,
  JsonValue,
  Outcome,
  RoundEndEvent,
  RoundFinish,
  RoundRetryEvent,
  ToolResultEvent,
  Usage,
  UserMessage,
} from '../protocol/index.ts'

// A log as people look at it: what a chat shows, and how each run went. Everything here is changed in place as entries come, so
// that an entry costs the same however long the log is. Whatever is shown has a `version` that grows when it changes.

/** Text that grows: pieces are only ever added, so a renderer remembers how many it has shown. */
export interface GrowingText {
  readonly pieces: string[]
  chars: number
  /** Nothing more is added. */
  closed: boolean
}

interface Shown {
  /** Unique among the rows of a log. */
  readonly key: string
  version: number
}

/** A message of a user. */
export interface InputView extends Shown {
  readonly kind: 'input'
  readonly seq: number
  readonly at: number
  readonly message: UserMessage
  readonly mode: InputEvent['mode']
  /** Undefined until a run has read it. */
  run?: RunView | undefined
  /** A stop came before any run read it: no run is started for it. */
  held: boolean
}

/** What the model says or thinks, up to the next call or the end of the part. */
export interface TextView extends Shown {
  readonly kind: 'text' | 'reasoning'
  readonly round: RoundView
  readonly seq: number
  /** When the first piece came, or somewhat earlier, and the last. */
  readonly at: number
  endedAt: number
  readonly text: GrowingText
  /** How many characters of it were heard, where it was spoken and cut off. */
  heard?: number | undefined
}

/**
 * Where a call is:
 * - `writing`: the model writes its arguments; `queued`: they are closed, and it waits for its turn
 * - `asking`: it waits for a person, or a call inside its sub-agent does
 * - `running`, and then what became of it
 */
export type CallState = 'writing' | 'queued' | 'asking' | 'running' | CallStatus

/** A tool call: first its arguments arrive, then it may wait (for its turn or a person), then it runs. */
export interface CallView extends Shown {
  readonly kind: 'call'
  readonly callId: string
  readonly name: string
  readonly round: RoundView
  readonly seq: number
  state: CallState
  /** When its arguments began to arrive, were closed, it was started (the last time) and had its result. */
  readonly begunAt: number
  closedAt?: number | undefined
  startedAt?: number | undefined
  endedAt?: number | undefined
  /** The arguments as they are written. */
  readonly raw: GrowingText
  /** Once they are closed. */
  input?: JsonObject | undefined
  /** What it was run with, where a person or a hook changed it. */
  changed?: JsonObject | undefined
  /** Why it cannot be run as the model wrote it. */
  problem?: string | undefined
  attempts: number
  /** The rule that let it pass, asked a person or kept it from running. */
  rule?: string | undefined
  /** The end of what it has printed so far, if that is what it reports. */
  printed: string
  /** The last reports, of at most a few kept. */
  readonly progress: unknown[]
  progressCount: number
  /** Its own, and those of calls inside its sub-agent (`call_1/call_7`). */
  readonly approvals: ApprovalView[]
  /** What its sub-agent does. */
  inner?: LogView | undefined
  result?: ToolResultEvent | undefined
  /** It is run by the provider itself. */
  provider?: { input?: JsonValue; output?: JsonValue; isError?: boolean } | undefined
}

export interface ApprovalView {
  readonly request: ApprovalRequestEvent
  readonly at: number
  decision?: ApprovalEvent | undefined
  decidedAt?: number | undefined
}

/** Something that happened and that a reader of the chat should know about, in one line. */
export interface NoticeView extends Shown {
  readonly kind: 'notice'
  readonly notice: 'retract' | 'retry' | 'taken-over' | 'summary' | 'repairs' | 'correction'
  readonly at: number
  readonly seq: number
  readonly text: string
  /** The reason, or the whole text. */
  readonly detail?: string
}

/** The end of a run. */
export interface EndView extends Shown {
  readonly kind: 'end'
  readonly run: RunView
  readonly seq: number
  readonly at: number
}

export type Row = InputView | TextView | CallView | NoticeView | EndView

/** A run, with every process that continued it after one was lost or a person had decided. */
export interface RunView {
  /** That of its first leg. */
  readonly id: string
  readonly agent: string
  /** The number of its first `run-start`: a fork at the one before answers its inputs anew. */
  readonly seq: number
  lastSeq: number
  readonly startedAt: number
  /** That of its last entry so far. */
  lastAt: number
  readonly inputs: InputView[]
  /** Each is a process that worked on it: the first, and one for each time the run was resumed. */
  readonly legs: LegView[]
  /** In the order in which they began, retracted ones included. */
  readonly rounds: RoundView[]
  /** Of all rounds, in the order in which they were begun. */
  readonly calls: CallView[]
  /** Undefined while it is under way. `suspended`: it waits for a person. */
  outcome?: Outcome | undefined
  /** Why its last generation ended, once it has. */
  finish?: RoundFinish | undefined
  /** Of its rounds so far. */
  usage: Usage
  error?: ErrorJson | undefined
  version: number
}

export interface LegView {
  readonly runId: string
  readonly seq: number
  readonly at: number
  endedAt?: number | undefined
  outcome?: Outcome | undefined
  /** `lost`: the process before it was lost; `person`: a person had decided. */
  readonly why: 'first' | 'lost' | 'person'
  readonly losses: number
}

/** One model call. */
export interface RoundView {
  readonly run: RunView
  /** The id of the leg that generated it, under which its exchanges are kept. */
  readonly runId: string
  readonly number: number
  model: string
  readonly seq: number
  /** It generates again what the round before it retracted. */
  readonly isRetry: boolean
  readonly startedAt: number
  /** When the first word, thought or call came. */
  firstAt?: number | undefined
  endedAt?: number | undefined
  /** What it is the first to read. */
  readonly inputs: InputView[]
  readonly retries: { readonly seq: number; readonly at: number; readonly retry: RoundRetryEvent }[]
  retracted?: { readonly at: number; readonly reason: string } | undefined
  /** What it said, thought and called, in the order in which it began. */
  readonly parts: (TextView | CallView)[]
  readonly calls: CallView[]
  end?: RoundEndEvent | undefined
  version: number
}

export interface LogView {
  /** The chat, without what was retracted. */
  readonly rows: Row[]
  /** Inputs that no run has read yet; shown below the chat. */
  waiting: InputView[]
  readonly runs: RunView[]
  /** The number of the last entry; 0 if there is none. */
  head: number
  version: number
  readonly open: Open
}

/** What the next entry may belong to. */
interface Open {
  /** What the keys of its rows begin with: something in the log of a sub-agent, which has no people around it. */
  readonly keys: string
  /** What comes before the current round is dropped. */
  readonly onlyRound: boolean
  run?: RunView | undefined
  round?: RoundView | undefined
  text?: TextView | undefined
  readonly calls: Map<string, CallView>
  /** Where the rows of the round begin. */
  rowsFrom: number
  /** No beginning of a run was read so far. */
  partial: boolean
  last?: Entry | undefined
}

/** What one entry changed. Only what it touched is there, so that a follower does not search the view for it. */
export interface Change {
  readonly entry: Entry
  /** An input was written to the log. */
  input?: InputView
  /** A run began or was resumed (its `outcome` is undefined), or ended. */
  run?: RunView
  /** A round began, was `retracted`, or ended (`end`). */
  round?: RoundView
  /** Text or reasoning grew by `delta`. */
  text?: TextView
  /** Text or reasoning is complete; also where its round was retracted. */
  closed?: TextView
  /** A call is about: its arguments grew by `delta`, it entered `state`, or it reported something. */
  call?: CallView
  state?: CallState
  /** What the call reported. */
  progress?: JsonValue
  /** What the sub-agent of the call did. */
  inner?: Change
  /** The request of the round failed and is sent again. */
  retry?: RoundRetryEvent
  notice?: NoticeView
  /** Inputs that a run read for the first time. */
  read?: readonly InputView[]
  delta: string
}
