import type { JsonObject, ToolResultPart } from '../../protocol/index.ts'
import type { LoggedCall, LoggedRound, LoggedRun } from './log.ts'
import { isCutOff } from './steps.ts'

/** What stands in for a tool: what it answers to each call, and what it will have been run with. */
export interface Stub {
  readonly answers: StubAnswer[]
  readonly calls: JsonObject[]
}

export interface StubAnswer {
  readonly input: JsonObject
  readonly asks?: true | string
  readonly output?: readonly ToolResultPart[]
  readonly error?: string
  readonly hangs?: true
}

/** What a hook makes of a call: it is not run, and why; or it is run with something else. */
type CallVerdict = { readonly block: string } | { readonly input: JsonObject }

/** The calls of a round that are not simply run, or answered why not. */
interface SpecialCalls {
  /** They wait for a person. */
  readonly asking: readonly LoggedCall[]
  /** They run until the run is cancelled. */
  readonly hanging: readonly LoggedCall[]
  /** The model finishes the round: what it left open is answered. */
  readonly isDone: boolean
  /** The round may not run tools, as the agent itself will see. */
  readonly isRefused: boolean
}

export interface Stubs {
  readonly tools: ReadonlyMap<string, Stub>
  /** By the id of the call. */
  readonly verdicts: ReadonlyMap<string, CallVerdict>
  /** Prepares for the calls of a round. Gives how many events they make: calls, starts and results. */
  take(round: LoggedRound, special: SpecialCalls): number
  /** The same for calls that a person has decided. */
  run(decided: readonly LoggedCall[], hanging: readonly LoggedCall[]): number
}

export function stubsFor(runs: readonly LoggedRun[]): Stubs {
  const tools = new Map<string, Stub>()
  const verdicts = new Map<string, CallVerdict>()
  const all = runs.flatMap(({ rounds }) => rounds.flatMap(closedCalls))
  // What was never run nor asked about may not have been a tool at all.
  for (const { call, started, request } of all)
    if ((started || request) && /^[\w-]{1,64}$/.test(call.name))
      tools.set(call.name, { answers: [], calls: [] })

  return {
    tools,
    verdicts,
    take(round, { asking, hanging, isDone, isRefused }) {
      let events = 0
      for (const logged of closedCalls(round)) {
        const { call, started } = logged
        const stub = tools.get(call.name)
        if (isCutOff(logged) && !isDone) continue
        events++
        const asks = asking.includes(logged)
        if (!stub || call.problem !== undefined || (!asks && !started)) {
          events++
          if (stub && call.problem === undefined && !isRefused)
            verdicts.set(call.callId, { block: blockReason(logged) })
          continue
        }
        const input = inputOf(logged)
        if (JSON.stringify(input) !== JSON.stringify(call.input)) verdicts.set(call.callId, { input })
        const hangs = hanging.includes(logged)
        stub.answers.push({
          input,
          ...(asks && { asks: logged.request?.reason ?? true }),
          ...answerOf(logged, hangs),
        })
        if (asks) continue
        stub.calls.push(input)
        events += hangs ? 1 : 2
      }
      return events
    },
    run(decided, hanging) {
      let events = 0
      for (const logged of decided) {
        const { call, decision } = logged
        if (!hanging.includes(logged)) events++
        if (!decision?.approved) continue
        events++
        tools.get(call.name)?.calls.push(decision.input ?? inputOf(logged))
      }
      return events
    },
  }
}

/** Those whose arguments were closed, in the order of that. */
export function closedCalls({ parts }: LoggedRound): LoggedCall[] {
  return parts.flatMap((part) => (part.type === 'call' ? [part.call] : []))
}

/** What it ran with, or was to: as the model wrote it, or as a hook changed it. */
function inputOf({ call, request, ranWith }: LoggedCall): JsonObject {
  return request?.input ?? ranWith ?? call.input
}

function answerOf({ started, waitsInside, result }: LoggedCall, hangs: boolean): Partial<StubAnswer> {
  if (hangs) return { hangs: true }
  if (!result) return started && !waitsInside ? { error: 'it did not come to an end' } : {}
  if (result.status === 'ok') return { output: result.output }
  return result.status === 'declined'
    ? {}
    : { error: textOf(result.output).replace(/^The tool failed: /, '') }
}

function blockReason({ result }: LoggedCall): string {
  return textOf(result?.output ?? []).replace(/^Not run: /, '') || 'it had not begun'
}

function textOf(parts: readonly ToolResultPart[]): string {
  return parts.map((part) => (part.type === 'text' ? part.text : part.type)).join(' ')
}
