import { readFileSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from 'millrace/internal'
import type { Piece, SaidPiece } from './synthesis.ts'
import { synthesis } from './synthesis.ts'

/** What comes back for each piece, in order. */
export type WorkerAnswer = { readonly said: SaidPiece } | { readonly failed: string }

/** The thread that flite runs in: a sentence takes it 50 to 200 ms, in which nothing else could happen. */
const { wasm, voice } = workerData as { readonly wasm: string; readonly voice: string }
const say = synthesis(new WebAssembly.Module(readFileSync(wasm)))
// Code that has run once is quicker: the first sentence would take three times as long.
say({ words: [{ start: 0, end: 3, spoken: 'Yes' }], voice, speed: 1 })

parentPort?.on('message', (piece: Piece) => {
  try {
    const said = say(piece)
    parentPort?.postMessage({ said } satisfies WorkerAnswer, [said.pcm.buffer])
  } catch (thrown) {
    parentPort?.postMessage({ failed: messageOf(thrown) } satisfies WorkerAnswer)
  }
})
