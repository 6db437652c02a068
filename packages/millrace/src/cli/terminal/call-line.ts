import type { CallView } from '../../view/index.ts'
import type { CallPhase } from './calls.ts'
import { inputOf, phaseOf, statusOf } from './calls.ts'
import { cleanLine } from './clean.ts'
import type { Span } from './style.ts'
import { style } from './style.ts'
import { clip, widthOf } from './width.ts'

const marks: Readonly<Record<Exclude<CallPhase, 'running'>, Span>> = {
  arriving: { text: '…', style: style.dim },
  waiting: { text: '·', style: style.dim },
  asking: { text: '?', style: style.yellow },
  done: { text: '✓', style: style.green },
  failed: { text: '✗', style: style.red },
  denied: { text: '✗', style: style.red },
  stopped: { text: '■', style: style.yellow },
}

const frames = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏']

export function spinnerAt(now: number): Span {
  return { text: frames[Math.floor(now / 100) % frames.length] ?? '', style: style.cyan }
}

/** A tool call in one row. If it is too long, first the note is cut, then the arguments. */
export function callLine(call: CallView, { width, now }: { width: number; now: number }): Span[] {
  const phase = phaseOf(call)
  const mark = phase === 'running' ? spinnerAt(now) : marks[phase]
  const status = statusOf(call, now)
  const [state = ''] = status.split(' · ')
  const name = call.budget ? '' : clip(cleanLine(call.name), Math.max(14, Math.floor(width / 2)))
  // Room to show that there is a note.
  const note = status === state ? 0 : 4
  const room = width - widthOf(`  x ${name}  · ${state}`) - note
  const input = room >= 8 ? clip(cleanLine(inputOf(call)), room) : ''
  const label = [`${name} ${input}`.trim(), ...(status ? [status] : [])].join(' · ')
  return [
    { text: '  ', style: style.plain },
    mark,
    { text: ` ${clip(label, Math.max(4, width - 4))}`, style: style.dim },
  ]
}
