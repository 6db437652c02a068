import { checkOptions } from '../protocol/index.ts'
import type { WorkletOptions } from './browser-audio.ts'
import { openContext, resumeOnGesture, workletTable } from './browser-audio.ts'
import type { Played, Player } from './player.ts'
import type { PlayerCommand } from './voice-worklet.ts'

export type BrowserPlayerOptions = WorkletOptions

const op = 'client.browserPlayer'

/**
 * Plays audio in a browser, with an AudioWorklet. If the page may not play sound yet, playback
 * starts with the next click or key press.
 */
export function browserPlayer(options: BrowserPlayerOptions = {}): Player {
  checkOptions(options, workletTable, { op, what: 'browserPlayer(): the option' })
  const replies = new Map<number, (played: Played) => void>()
  let lastPlayed: Played = { clip: 0, position: 0, idle: true }
  let lastId = 0
  let post: (command: PlayerCommand) => void = () => {}
  let release = async () => {}
  let isClosed = false

  function ask(make: (id: number) => PlayerCommand): Promise<Played> {
    if (isClosed) return Promise.resolve(lastPlayed)
    const { promise, resolve } = Promise.withResolvers<Played>()
    replies.set(++lastId, resolve)
    post(make(lastId))
    return promise
  }

  return {
    async open({ sampleRate, onPlayed }) {
      const context = await openContext(op, sampleRate, options)
      release = () => context.close()
      const node = new AudioWorkletNode(context, 'millrace-player', {
        numberOfInputs: 0,
        outputChannelCount: [1],
        processorOptions: { sampleRate },
      })
      node.port.onmessage = ({ data }: { readonly data: { id?: number; played: Played } }) => {
        lastPlayed = data.played
        if (data.id === undefined) return onPlayed(lastPlayed)
        replies.get(data.id)?.(lastPlayed)
        replies.delete(data.id)
      }
      post = (command) => node.port.postMessage(command)
      node.connect(context.destination)
      const stopResuming = resumeOnGesture(context)
      release = async () => {
        stopResuming()
        post({ type: 'close' })
        node.port.onmessage = null
        node.disconnect()
        await context.close()
      }
      if (isClosed) await release()
    },
    play: (chunk) => post({ type: 'play', chunk }),
    drop: (clip, position) => ask((id) => ({ type: 'drop', id, clip, position })),
    pause: () => ask((id) => ({ type: 'pause', id })),
    resume: () => post({ type: 'resume' }),
    async close() {
      if (isClosed) return
      isClosed = true
      for (const reply of replies.values()) reply(lastPlayed)
      replies.clear()
      await release()
    },
  }
}
