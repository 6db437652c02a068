import { readFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from 'millrace/internal'
import type { Piece, SpokenPiece } from './synthesis.ts'
import { synthesis } from './synthesis.ts'

/** The response for each piece, in order. */
export type WorkerAnswer = { readonly said: SpokenPiece } | { readonly failed: string }

/** flite runs in a thread because a sentence blocks it for 50 to 200 ms. */
const { wasm, voice } = workerData as { readonly wasm: string; readonly voice: string }
const say = synthesis(new WebAssembly.Module(readFileSync(wasm)))
// Warm-up: otherwise the first sentence would take three times as long.
say({ words: [{ start: 0, end: 3, spoken: 'Yes' }], voice, speed: 1 })

parentPort?.on('message', (piece: Piece) => {
  try {
    const said = say(piece)
    parentPort?.postMessage({ said } satisfies WorkerAnswer, [said.pcm.buffer])
  } catch (thrown) {
    parentPort?.postMessage({ failed: messageOf(thrown) } satisfies WorkerAnswer)
  }
})
