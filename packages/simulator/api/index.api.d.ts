import { Clock, FinishReason, JsonValue } from 'millrace'

import { ScriptRound } from 'millrace/testing'

interface Cassette {
  readonly version: 1
  readonly exchanges: readonly CassetteExchange[]
}

type CassetteChunk = {
  readonly afterMs: number
} & (
  | {
      readonly text: string
    }
  | {
      readonly base64: string
    }
)

interface CassetteExchange {
  readonly request: {
    readonly method: string
    readonly path: string
    readonly headers: Readonly<Record<string, string>>
    readonly body?: JsonValue
  }
  readonly response: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    readonly chunks: readonly CassetteChunk[]
    readonly complete: boolean
  }
}

interface CassettePlayer extends Closable {
  readonly url: string
  readonly baseURL: string
  readonly left: number
  readonly sockets: number
}

interface CassetteRecorder extends Closable {
  readonly url: string
  cassette(): Cassette
}

interface Closable {
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

type Fault = FaultKind & {
  readonly request?: number
}

type FaultKind =
  | {
      readonly kind: 'refuse'
    }
  | {
      readonly kind: 'reset'
      readonly at: FaultPoint
    }
  | {
      readonly kind: 'stall'
      readonly at: FaultPoint
    }
  | {
      readonly kind: 'end'
      readonly at: Exclude<FaultPoint, 'before-headers'>
    }
  | {
      readonly kind: 'pings'
      readonly at: Exclude<FaultPoint, 'before-headers'>
      readonly everyMs?: number
    }
  | {
      readonly kind: 'chunks'
      readonly bytes: number | readonly number[] | 'all'
    }
  | {
      readonly kind: 'duplicate'
      readonly event: number
    }
  | {
      readonly kind: 'reorder'
      readonly event: number
    }
  | {
      readonly kind: 'unknown-event'
      readonly event: number
    }
  | {
      readonly kind: 'unknown-fields'
    }
  | {
      readonly kind: 'unknown-block'
    }
  | {
      readonly kind: 'oversize'
      readonly event: number
      readonly bytes: number
    }
  | {
      readonly kind: 'malformed'
      readonly event: number
      readonly data?: string
    }
  | {
      readonly kind: 'error-frame'
      readonly event: number
      readonly status?: number
    }
  | {
      readonly kind: 'status'
      readonly status: number
      readonly retryAfter?: RetryAfter
    }
  | {
      readonly kind: 'html'
    }
  | {
      readonly kind: 'content-type'
      readonly type: string
    }
  | {
      readonly kind: 'arguments'
      readonly call: number
      readonly how: 'malformed' | 'truncated' | 'empty' | 'double-encoded'
    }
  | {
      readonly kind: 'same-call-ids'
    }
  | {
      readonly kind: 'length-cut'
      readonly call: number
    }
  | {
      readonly kind: 'no-usage'
    }
  | {
      readonly kind: 'unclosed-call'
      readonly call: number
    }
  | {
      readonly kind: 'empty'
      readonly finish?: FinishReason
    }
  | {
      readonly kind: 'splice'
      readonly event: number
      readonly round?: ScriptRound
      readonly start?: boolean
    }
  | {
      readonly kind: 'content-in-start'
    }
  | {
      readonly kind: 'custom-provider-calls'
    }
  | {
      readonly kind: 'no-item-done'
      readonly item: number
    }
  | {
      readonly kind: 'expired'
    }
  | ({
      readonly kind: 'sse'
    } & SseFraming)

interface FaultPlanOptions {
  readonly requests?: number
  readonly count?: number
  readonly kinds?: readonly FaultKind['kind'][]
  readonly events?: number
}

type FaultPoint =
  | 'before-headers'
  | 'after-headers'
  | {
      readonly event: number
      readonly byte?: number | 'utf8' | 'escape'
    }

interface PromptCacheOptions {
  readonly minTokens?: number
}

interface ProviderSimulator extends Closable {
  readonly url: string
  readonly baseURL: string
  readonly requests: readonly SimulatedRequest[]
  readonly sockets: number
  idle(): Promise<void>
}

interface ProviderSimulatorOptions {
  readonly faults?: readonly Fault[]
  readonly deltaChars?: number | readonly number[]
  readonly apiKey?: string
  readonly checks?: boolean
  readonly promptCache?: PromptCacheOptions | false
  readonly clock?: Clock
}

interface RecordCassetteOptions {
  readonly upstream: string
  readonly secrets?: readonly string[]
  readonly clock?: Clock
}

interface ReplayCassetteOptions {
  readonly paced?: boolean
  readonly clock?: Clock
}

type RetryAfter =
  | {
      readonly seconds: number
    }
  | {
      readonly date: number
    }
  | {
      readonly ms: number
    }

type Script = readonly ScriptRound[] | ((request: SimulatedRequest, index: number) => ScriptRound)

interface SimulatedRequest {
  readonly wire?: Wire
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: JsonValue
  readonly status?: number
  readonly faults: readonly Fault[]
}

interface SseFraming {
  readonly newline?: 'crlf' | 'cr'
  readonly bom?: boolean
  readonly comments?: boolean
  readonly dataLines?: boolean
  readonly fields?: boolean
  readonly finalBlank?: boolean
  readonly done?: boolean
}

type Wire = 'openai-chat' | 'openai-responses' | 'anthropic'

declare function faultPlan(seed: number | string, options?: FaultPlanOptions): Fault[]

declare function printFaults(plan: readonly Fault[]): string

declare function providerSimulator(
  script: Script,
  options?: ProviderSimulatorOptions,
): Promise<ProviderSimulator>

declare function recordCassette(options: RecordCassetteOptions): Promise<CassetteRecorder>

declare function replayCassette(
  recorded: Cassette | string,
  options?: ReplayCassetteOptions,
): Promise<CassettePlayer>

export {
  type Cassette,
  type CassetteChunk,
  type CassetteExchange,
  type CassettePlayer,
  type CassetteRecorder,
  type Fault,
  type FaultKind,
  type FaultPlanOptions,
  type FaultPoint,
  type PromptCacheOptions,
  type ProviderSimulator,
  type ProviderSimulatorOptions,
  type RecordCassetteOptions,
  type ReplayCassetteOptions,
  type RetryAfter,
  type SimulatedRequest,
  type SseFraming,
  type Wire,
  faultPlan,
  printFaults,
  providerSimulator,
  recordCassette,
  replayCassette,
}
