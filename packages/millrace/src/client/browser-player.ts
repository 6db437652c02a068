import { checkOptions } from '../protocol/index.ts'
import type { WorkletOptions } from './browser-audio.ts'
import { openContext, resumeOnGesture, workletTable } from './browser-audio.ts'
import type { Played, Player } from './player.ts'
import type { PlayerOrder } from './voice-worklet.ts'

export type BrowserPlayerOptions = WorkletOptions

const op = 'client.browserPlayer'

/** Plays in a browser, by an AudioWorklet. Where a page may not make sound yet, it begins with the next click or key. */
export function browserPlayer(options: BrowserPlayerOptions = {}): Player {
  checkOptions(options, workletTable, { op, what: 'browserPlayer(): the option' })
  const answers = new Map<number, (played: Played) => void>()
  let last: Played = { clip: 0, position: 0, idle: true }
  let asked = 0
  let order: (order: PlayerOrder) => void = () => {}
  let leave = async () => {}
  let isClosed = false

  function ask(make: (id: number) => PlayerOrder): Promise<Played> {
    if (isClosed) return Promise.resolve(last)
    const { promise, resolve } = Promise.withResolvers<Played>()
    answers.set(++asked, resolve)
    order(make(asked))
    return promise
  }

  return {
    async open({ sampleRate, onPlayed }) {
      const context = await openContext(op, sampleRate, options)
      leave = () => context.close()
      const node = new AudioWorkletNode(context, 'millrace-player', {
        numberOfInputs: 0,
        outputChannelCount: [1],
        processorOptions: { sampleRate },
      })
      node.port.onmessage = ({ data }: { readonly data: { id?: number; played: Played } }) => {
        last = data.played
        if (data.id === undefined) return onPlayed(last)
        answers.get(data.id)?.(last)
        answers.delete(data.id)
      }
      order = (one) => node.port.postMessage(one)
      node.connect(context.destination)
      const forget = resumeOnGesture(context)
      leave = async () => {
        forget()
        order({ do: 'close' })
        node.port.onmessage = null
        node.disconnect()
        await context.close()
      }
      if (isClosed) await leave()
    },
    play: (chunk) => order({ do: 'play', chunk }),
    drop: (clip, position) => ask((id) => ({ do: 'drop', id, clip, position })),
    pause: () => ask((id) => ({ do: 'pause', id })),
    resume: () => order({ do: 'resume' }),
    async close() {
      if (isClosed) return
      isClosed = true
      for (const answer of answers.values()) answer(last)
      answers.clear()
      await leave()
    },
  }
}
