import { constants } from 'node:os'
import type { CommandEnd } from './command.ts'
import type { CommandOutcome } from './foreground.ts'
import type { Channel, OutputText } from './output-store.ts'
import { plainText } from './plain-text.ts'

/** The outcome of a command, with notes for the model. */
export interface CommandReport extends CommandOutcome {
  /** Explains what the sandbox denied, if it did. */
  readonly denial?: string | undefined
  /** It started something in the background that may have been cut off. */
  readonly leftBehind?: boolean | undefined
}

/** A command's output and outcome, for the model. */
export function outcomeText(outcome: CommandReport, limits: { maxTimeoutMs: number }): string {
  const { timedOutMs } = outcome
  const text = outcome.output.read()
  const end = timedOutMs === undefined ? endNote(outcome) : timeoutNote(timedOutMs, limits)
  return withNotes(text, [droppedNote(text), leftOverNote(outcome), outcome.denial, end])
}

export function withNotes(text: OutputText, notes: readonly (string | undefined)[]): string {
  return [plainOutput(text) || '(no output)', ...notes.filter((note) => note)].join('\n')
}

/** One command in the format of `shell_call_output` in the Responses API. */
export function callOutput(
  outcome: CommandReport,
  limits: { maxTimeoutMs: number; maxOutputLength: number },
) {
  const { output, timedOutMs, code, signal, denial } = outcome
  const { maxOutputLength } = limits
  const part = (channel: Channel) => plainOutput(output.read(channel))
  const notes = [leftOverNote(outcome), denial, timedOutMs !== undefined && timeoutNote(timedOutMs, limits)]
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

/** At most `most` characters, half from the beginning and half from the end. */
function headAndTail(text: string, most: number): string {
  if (text.length <= most) return text
  const half = Math.max(0, Math.floor((most - gap.length - 2) / 2))
  // Never cut through a surrogate pair.
  const head = text.slice(0, half).replace(/[\uD800-\uDBFF]$/, '')
  const tail = text.slice(text.length - half).replace(/^[\uDC00-\uDFFF]/, '')
  return `${head}\n${gap}\n${tail}`.slice(0, most)
}

export function droppedNote({ dropped }: OutputText): string | undefined {
  if (dropped === 0) return undefined
  return `[${size(dropped)} of output left out in the middle: redirect it to a file and read parts of that]`
}

function timeoutNote(timedOutMs: number, { maxTimeoutMs }: { maxTimeoutMs: number }): string {
  return `[stopped: it did not finish within ${seconds(timedOutMs)}. Set timeout_ms (at most ${maxTimeoutMs}), or background: true and poll it with shell_output]`
}

/** `[exit code 0 after 1.2 s]` */
export function endNote({ code, signal, ms }: CommandEnd): string {
  if (signal) return `[ended by ${signal} after ${seconds(ms)}]`
  // Shells and the sandbox report a signal as 128 plus its number.
  const by = Object.entries(constants.signals).find(([, number]) => number + 128 === code)?.[0]
  return `[exit code ${code}${by ? ` (${by})` : ''} after ${seconds(ms)}]`
}

function leftOverNote({ leftOver, leftBehind, timedOutMs }: CommandReport): string | undefined {
  if (timedOutMs !== undefined) return undefined
  if (leftOver === 0)
    return leftBehind
      ? '[processes started with & ended with the command: use background: true to keep something running]'
      : undefined
  return leftOver === 1
    ? '[a process that it left running was ended: use background: true to keep it running]'
    : `[${leftOver} processes that it left running were ended: use background: true to keep them running]`
}

export function seconds(ms: number): string {
  return `${ms < 10_000 && ms % 1_000 !== 0 ? (ms / 1_000).toFixed(1) : Math.round(ms / 1_000)} s`
}

function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} bytes`
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(1)} kB`
  return `${(bytes / 1_000_000).toFixed(1)} MB`
}
