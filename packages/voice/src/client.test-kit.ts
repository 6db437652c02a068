import type { Clock } from 'millrace'
import type { VoiceOutlet } from 'millrace/server'
import type { AudioFrame, VoiceEvent } from '../../millrace/src/protocol/index.ts'
import { readAudioFrame } from '../../millrace/src/protocol/index.ts'

/** A client that keeps everything it receives and plays it in real time. */
export interface TestClient extends VoiceOutlet {
  readonly events: VoiceEvent[]
  readonly frames: AudioFrame[]
  eventsOf<Type extends VoiceEvent['type']>(type: Type): Extract<VoiceEvent, { type: Type }>[]
  /** The turn that is playing. */
  playing(): number | undefined
  /** The position in the turn that is playing. */
  position(turn: number): number
  close(): void
}

export interface TestClientOptions {
  readonly clock: Clock
  readonly sampleRate: number
  /**
   * Called with the position, every five steps and at each stop. Without it, the client never
   * reports.
   */
  readonly report?: (turn: number, position: number) => void
  /** Samples are played in steps of this many milliseconds. */
  readonly stepMs?: number
}

export function testClient({ clock, sampleRate, report, stepMs = 20 }: TestClientOptions): TestClient {
  const events: VoiceEvent[] = []
  const frames: AudioFrame[] = []
  let queue: { readonly turn: number; readonly position: number; left: number; done: number }[] = []
  const positions = new Map<number, number>()
  const silenced = new Set<number>()
  let isPaused = false
  let isOver = false
  let steps = 0

  function play(samples: number) {
    let left = samples
    for (let first = queue[0]; first && left > 0; first = queue[0]) {
      const step = Math.min(left, first.left)
      first.left -= step
      first.done += step
      left -= step
      positions.set(first.turn, first.position + first.done)
      if (first.left === 0) queue.shift()
      if (queue.length === 0 || queue[0]?.turn !== first.turn) reportPosition(first.turn)
    }
  }

  const reportPosition = (turn: number) => report?.(turn, positions.get(turn) ?? 0)

  let last = clock.now()

  function step() {
    if (isOver) return
    const [first] = queue
    const now = clock.now()
    // Timers may be late; audio is not.
    if (!isPaused) play(Math.round(((now - last) / 1000) * sampleRate))
    last = now
    if (++steps % 5 === 0 && first) reportPosition(first.turn)
    clock.after(stepMs, step)
  }
  clock.after(stepMs, step)

  return {
    events,
    frames,
    eventsOf: (type) => events.filter((event) => event.type === type) as never,
    send(event) {
      events.push(event)
      if (event.type === 'voice_pause') isPaused = true
      if (event.type === 'voice_resume') isPaused = false
      if (event.type === 'voice_silence') {
        silenced.add(event.turn)
        queue = queue.filter(({ turn }) => turn !== event.turn)
        isPaused = false
      }
      if (event.type === 'voice_retract')
        queue = queue.flatMap((one) => {
          const most = Math.max(event.position, one.position + one.done)
          const left = Math.min(one.left, most - one.position - one.done)
          return one.turn !== event.turn || left > 0
            ? [{ ...one, left: one.turn === event.turn ? left : one.left }]
            : []
        })
      if (event.type === 'voice_pause' || event.type === 'voice_silence')
        queueMicrotask(() => reportPosition(event.turn))
    },
    sendAudio(bytes) {
      const frame = readAudioFrame(bytes)
      if (typeof frame === 'string') throw new Error(frame)
      frames.push(frame)
      // Sent before the client stopped.
      if (silenced.has(frame.turn)) return
      queue.push({ turn: frame.turn, position: frame.position, left: frame.pcm.length, done: 0 })
    },
    drained: async () => {},
    playing: () => queue[0]?.turn,
    position: (turn) => positions.get(turn) ?? 0,
    close() {
      isOver = true
    },
  }
}
