import type { CallView } from '../../view/index.ts'
import type { CallLook } from './calls.ts'
import { inputOf, lookOf, statusOf } from './calls.ts'
import { cleanLine } from './clean.ts'
import type { Span } from './style.ts'
import { style } from './style.ts'
import { clip, widthOf } from './width.ts'

const marks: Readonly<Record<Exclude<CallLook, 'running'>, Span>> = {
  arriving: { text: '…', style: style.dim },
  waiting: { text: '·', style: style.dim },
  asking: { text: '?', style: style.yellow },
  done: { text: '✓', style: style.green },
  failed: { text: '✗', style: style.red },
  declined: { text: '✗', style: style.red },
  stopped: { text: '■', style: style.yellow },
}

const frames = [...'⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏']

/** Something that turns while time goes on. */
export function spinnerAt(now: number): Span {
  return { text: frames[Math.floor(now / 100) % frames.length] ?? '', style: style.cyan }
}

/** One row for a call, never wider: long notes give way to the arguments, and those to the state and its time. */
export function callLine(call: CallView, { width, now }: { width: number; now: number }): Span[] {
  const look = lookOf(call)
  const mark = look === 'running' ? spinnerAt(now) : marks[look]
  const status = statusOf(call, now)
  const [state = ''] = status.split(' · ')
  const name = clip(cleanLine(call.name), Math.max(14, Math.floor(width / 2)))
  // Enough to see that there is a note.
  const note = status === state ? 0 : 4
  const room = width - widthOf(`  x ${name}  · ${state}`) - note
  const input = room >= 8 ? clip(cleanLine(inputOf(call)), room) : ''
  const words = [`${name} ${input}`.trimEnd(), ...(status ? [status] : [])].join(' · ')
  return [
    { text: '  ', style: style.plain },
    mark,
    { text: ` ${clip(words, Math.max(4, width - 4))}`, style: style.dim },
  ]
}
