import type {
  ApprovalEvent,
  ApprovalRequestEvent,
  CallDisplay,
  CallStatus,
  ContextUse,
  Entry,
  ErrorJson,
  FailedRequest,
  FeedbackEvent,
  InputEvent,
  JsonObject,
  JsonValue,
  Outcome,
  ReachedLimit,
  RoundEndEvent,
  RoundFinish,
  RoundRetryEvent,
  Spent,
  ToolResultEvent,
  Usage,
  UserMessage,
} from '../protocol/index.ts'

// The view of a log for user interfaces: what a chat shows, and how each run went. Everything is
// changed in place, so that the cost of an entry does not depend on the length of the log.
// Everything that can be drawn has a `version` that grows when it changes.

/**
 * Text that grows. Pieces are only ever added, so a renderer can remember how many it has drawn.
 */
export interface GrowingText {
  readonly pieces: string[]
  chars: number
  /** Nothing more is added. */
  closed: boolean
}

interface RowBase {
  /** Unique among the rows of a log. */
  readonly key: string
  version: number
}

/** A user's message. */
export interface InputView extends RowBase {
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

/** Text or reasoning of the model, up to the next tool call or the end of the part. */
export interface TextView extends RowBase {
  readonly kind: 'text' | 'reasoning'
  readonly round: RoundView
  readonly seq: number
  /** When the first piece arrived, or slightly earlier. `endedAt`: when the last one arrived. */
  readonly at: number
  endedAt: number
  readonly text: GrowingText
  /** How many characters of it were played, if its speech was interrupted. */
  played?: number | undefined
}

/**
 * The state of a tool call:
 * - `writing`: the model is writing its arguments
 * - `queued`: the arguments are complete, and it waits to start
 * - `asking`: it waits for a person, or a call of its sub-agent does
 * - `running`, and then the status of its result
 */
export type CallState = 'writing' | 'queued' | 'asking' | 'running' | CallStatus

/**
 * A tool call: first its arguments arrive, then it may wait (in the queue or for a person), then it
 * runs.
 */
export interface CallView extends RowBase {
  readonly kind: 'call'
  readonly callId: string
  readonly name: string
  /** The tool has no `run`: a client runs it. */
  readonly wants?: 'result' | undefined
  readonly round: RoundView
  readonly seq: number
  state: CallState
  /**
   * When its arguments started to arrive and were complete, and when the call was (last) started
   * and had its result.
   */
  readonly createdAt: number
  closedAt?: number | undefined
  startedAt?: number | undefined
  endedAt?: number | undefined
  /** The arguments as the model writes them. */
  readonly raw: GrowingText
  /** The arguments once they are complete. */
  input?: JsonObject | undefined
  /** The input it ran with, if a person or a hook changed it. */
  changedInput?: JsonObject | undefined
  /** Why it cannot run as the model wrote it. */
  problem?: string | undefined
  attempts: number
  /** How to show it. Its fields are replaced as the call reports new ones. */
  display?: CallDisplay | undefined
  /** The rule that allowed it, asked a person or denied it. */
  rule?: string | undefined
  /** The end of its output so far, if it reports output. */
  printed: string
  /** The last few progress reports. */
  readonly progress: unknown[]
  progressCount: number
  /**
   * The limit that a person is asked to raise. There is no tool then: the row only stands for the
   * question.
   */
  readonly budget?: ReachedLimit | undefined
  /** Its own approvals, and those of calls of its sub-agent (`call_1/call_7`). */
  readonly approvals: ApprovalView[]
  /** The view of its sub-agent. */
  inner?: LogView | undefined
  result?: ToolResultEvent | undefined
  /** Present if the provider runs the tool itself. */
  provider?: { input?: JsonValue; output?: JsonValue; isError?: boolean } | undefined
}

export interface ApprovalView {
  readonly request: ApprovalRequestEvent
  readonly at: number
  decision?: ApprovalEvent | undefined
  decidedAt?: number | undefined
}

/** A one-line notice in the chat. */
export interface NoticeView extends RowBase {
  readonly kind: 'notice'
  readonly notice: 'retract' | 'retry' | 'taken-over' | 'summary' | 'repairs' | 'correction'
  readonly at: number
  readonly seq: number
  readonly text: string
  /** The reason, or the full text. */
  readonly detail?: string
}

/** The end of a run. */
export interface EndView extends RowBase {
  readonly kind: 'end'
  readonly run: RunView
  readonly seq: number
  readonly at: number
}

export type Row = InputView | TextView | CallView | NoticeView | EndView

/** A run, including every process that resumed it after a process died or a person decided. */
export interface RunView {
  /** The id of its first leg. */
  readonly id: string
  readonly agent: string
  /** The number of its first `run-start`. A fork at the number before answers its inputs again. */
  readonly seq: number
  /** The key of the row before its answer: of its last input, or of an earlier row. */
  after: string
  lastSeq: number
  readonly startedAt: number
  /** The time of its last entry so far. */
  lastAt: number
  readonly inputs: InputView[]
  /** The processes that worked on it: the first one, and one for each time the run was resumed. */
  readonly legs: LegView[]
  /** In the order in which they started, including retracted ones. */
  readonly rounds: RoundView[]
  /** The calls of all rounds, in the order in which they started. */
  readonly calls: CallView[]
  /** Undefined while it is running. `suspended`: it waits for a person. */
  outcome?: Outcome | undefined
  /** Why its last generation ended, once it has. */
  finish?: RoundFinish | undefined
  /** The usage of its rounds so far. */
  usage: Usage
  /** What it has spent so far, with sub-agents, summaries and failed requests: see `totalCost`. */
  readonly spent: Spent
  /** How full the model's context was after the last round. */
  context?: ContextUse | undefined
  /** The limit that ended it, with the outcome `budget`. */
  limit?: ReachedLimit | undefined
  error?: ErrorJson | undefined
  /** What users said about it, by user; `''` if callers are not identified. */
  readonly feedback: Map<string, FeedbackEvent & { readonly at: number }>
  version: number
}

export interface LegView {
  readonly runId: string
  readonly seq: number
  readonly at: number
  endedAt?: number | undefined
  outcome?: Outcome | undefined
  /** Why it was started. `lost`: the previous process died; `person`: a person decided. */
  readonly why: 'first' | 'lost' | 'person'
  readonly losses: number
}

/** One model call. */
export interface RoundView {
  readonly run: RunView
  /** The id of the leg that generated it, under which its exchanges are stored. */
  readonly runId: string
  readonly number: number
  model: string
  readonly seq: number
  /** Whether it regenerates the round before it, which was retracted. */
  readonly isRetry: boolean
  readonly startedAt: number
  /** When the first text, reasoning or call arrived. */
  firstAt?: number | undefined
  endedAt?: number | undefined
  /** The inputs that it is the first to read. */
  readonly inputs: InputView[]
  readonly retries: { readonly seq: number; readonly at: number; readonly retry: RoundRetryEvent }[]
  /** `failed` is what the retracted request cost. */
  retracted?: { readonly at: number; readonly reason: string; readonly failed?: FailedRequest } | undefined
  /** Its text, reasoning and calls, in the order in which they started. */
  readonly parts: (TextView | CallView)[]
  readonly calls: CallView[]
  end?: RoundEndEvent | undefined
  version: number
}

export interface LogView {
  /** The chat, without retracted rows. */
  readonly rows: Row[]
  /** Inputs that no run has read yet; shown below the chat. */
  waiting: InputView[]
  /**
   * What the conversation was rewound from, by the key of the row before it; `''` if it was rewound
   * to the start.
   */
  readonly versions: Map<string, Versions>
  readonly runs: RunView[]
  /** The title that a user gave it. */
  title?: string | undefined
  /**
   * Its metadata, once an entry has changed it, or from the start if `createView` was given it. Each
   * change makes a new object.
   */
  metadata?: JsonObject | undefined
  /** The number of the last entry; 0 if there is none. */
  head: number
  version: number
  readonly open: OpenState
}

/** All versions of what follows a row, the oldest first. */
export interface Versions {
  readonly list: Version[]
  readonly current: number
}

export interface Version {
  /** Its rows while it is hidden. */
  rows: Row[]
  /** The number of the `rewind` that hid it: rewinding to before that number shows it again. */
  replacedBy?: number | undefined
}

/** What the next entry may belong to. */
interface OpenState {
  /**
   * The prefix of row keys. Not empty for the view of a sub-agent, which has no users of its own.
   */
  readonly keyPrefix: string
  /** Whether everything before the current round is dropped. */
  readonly onlyRound: boolean
  /** Where rows are added: the chat, or the hidden rows of a run that a rewind cancels. */
  rows: Row[]
  /** The number of a rewind, until a run that knows of it starts. */
  rewind?: number | undefined
  /** The rewind waits for a run that answers the same inputs again. */
  isAnswering: boolean
  /** Inputs that were dropped before a run read them; a run that started meanwhile may still do so. */
  discarded: InputView[]
  run?: RunView | undefined
  round?: RoundView | undefined
  text?: TextView | undefined
  readonly calls: Map<string, CallView>
  /** The index in `open.rows` of the first row of the current round. */
  roundRowsStart: number
  /** Whether no start of a run was read so far. */
  isPartial: boolean
  last?: Entry | undefined
}

/**
 * What one entry changed. Only what it touched is present, so that a follower need not search the
 * view.
 */
export interface Change {
  readonly entry: Entry
  /** An input was appended to the log. */
  input?: InputView
  /** A run started or was resumed (its `outcome` is undefined), or ended. */
  run?: RunView
  /** A round started, was `retracted`, or ended (`end`). */
  round?: RoundView
  /** Text or reasoning grew by `delta`. */
  text?: TextView
  /** Text or reasoning is complete, or its round was retracted. */
  closed?: TextView
  /** A call changed: its arguments grew by `delta`, it entered `state`, or it reported progress. */
  call?: CallView
  state?: CallState
  /** The progress that the call reported. */
  progress?: JsonValue
  /** How to show the call, if that changed. */
  display?: CallDisplay
  /** What changed in the call's sub-agent. */
  inner?: Change
  /** The request of the round failed and is sent again. */
  retry?: RoundRetryEvent
  notice?: NoticeView
  /** The conversation was rewound: rows were replaced. */
  rewound?: true
  /** The metadata was changed by this JSON merge patch. */
  metadata?: JsonObject
  /** Inputs that a run read for the first time. */
  read?: readonly InputView[]
  delta: string
}
