import { constants } from 'node:os'
import type { CommandEnd } from './command.ts'
import type { CommandOutcome } from './foreground.ts'
import type { Channel, OutputText } from './output-store.ts'
import { plainText } from './plain-text.ts'

/** How a command went, and what of that a model should know. */
export interface Told extends CommandOutcome {
  /** Why the sandbox refused something, if it did. */
  readonly refusal?: string | undefined
  /** Something was put in the background, of which it is not known whether it had ended. */
  readonly leftBehind?: boolean | undefined
}

/** A command's output and what became of it, for the model. */
export function outcomeText(outcome: Told, limits: { maxTimeoutMs: number }): string {
  const { timedOutMs } = outcome
  const text = outcome.output.read()
  const end = timedOutMs === undefined ? endNote(outcome) : timeOutNote(timedOutMs, limits)
  return withNotes(text, [droppedNote(text), leftOverNote(outcome), outcome.refusal, end])
}

export function withNotes(text: OutputText, notes: readonly (string | undefined)[]): string {
  return [plainOutput(text) || '(no output)', ...notes.filter((note) => note)].join('\n')
}

/** What `shell_call_output` of the Responses API wants of each command. */
export function callOutput(outcome: Told, limits: { maxTimeoutMs: number; maxOutputLength: number }) {
  const { output, timedOutMs, code, signal, refusal } = outcome
  const { maxOutputLength } = limits
  const part = (channel: Channel) => plainOutput(output.read(channel))
  const notes = [leftOverNote(outcome), refusal, timedOutMs !== undefined && timeOutNote(timedOutMs, limits)]
  return {
    stdout: headAndTail(part(1), maxOutputLength),
    stderr: headAndTail([part(2), ...notes].filter(Boolean).join('\n'), maxOutputLength),
    outcome:
      timedOutMs === undefined
        ? { type: 'exit', exit_code: code ?? 128 + constants.signals[signal ?? 'SIGKILL'] }
        : { type: 'timeout' },
  }
}

function plainOutput({ head, tail, dropped }: OutputText): string {
  return (dropped === 0 ? plainText(head) : `${plainText(head)}\n${gap}\n${plainText(tail)}`).trimEnd()
}

const gap = '[…]'

/** As many characters as that and no more, half from the beginning and half from the end. */
function headAndTail(text: string, most: number): string {
  if (text.length <= most) return text
  const half = Math.max(0, Math.floor((most - gap.length - 2) / 2))
  // A cut never falls between the two halves of a surrogate pair.
  const head = text.slice(0, half).replace(/[\uD800-\uDBFF]$/, '')
  const tail = text.slice(text.length - half).replace(/^[\uDC00-\uDFFF]/, '')
  return `${head}\n${gap}\n${tail}`.slice(0, most)
}

export function droppedNote({ dropped }: OutputText): string | undefined {
  if (dropped === 0) return undefined
  return `[${size(dropped)} of output left out in the middle: send it to a file and look at parts of that]`
}

function timeOutNote(timedOutMs: number, { maxTimeoutMs }: { maxTimeoutMs: number }): string {
  return `[stopped: it did not finish within ${seconds(timedOutMs)}. Give timeout_ms (at most ${maxTimeoutMs}), or background: true and poll it with shell_output]`
}

/** `[exit code 0 after 1.2 s]` */
export function endNote({ code, signal, ms }: CommandEnd): string {
  if (signal) return `[ended by ${signal} after ${seconds(ms)}]`
  // So do shells and the sandbox tell that a signal ended what they ran.
  const by = Object.entries(constants.signals).find(([, number]) => number + 128 === code)?.[0]
  return `[exit code ${code}${by ? ` (${by})` : ''} after ${seconds(ms)}]`
}

function leftOverNote({ leftOver, leftBehind, timedOutMs }: Told): string | undefined {
  if (timedOutMs !== undefined) return undefined
  if (leftOver === 0)
    return leftBehind
      ? '[what it put in the background with & ended with it: use background: true for what must go on]'
      : undefined
  return leftOver === 1
    ? '[a process that it left running was ended: use background: true for that]'
    : `[${leftOver} processes that it left running were ended: use background: true for those]`
}

export function seconds(ms: number): string {
  return `${ms < 10_000 && ms % 1_000 !== 0 ? (ms / 1_000).toFixed(1) : Math.round(ms / 1_000)} s`
}

function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}
