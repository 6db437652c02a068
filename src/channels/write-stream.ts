import type { ServerResponse } from 'node:http'
import { roomIn } from './outlet.ts'

/**
 * Writes a web stream to a response of Node, at the client's pace. A client that goes cancels the stream; one that takes
 * nothing for `stuckMs` is dropped. Resolves when the response has ended; never rejects.
 */
export async function writeStream(
  response: ServerResponse,
  stream: ReadableStream<Uint8Array>,
  { stuckMs }: { readonly stuckMs: number },
): Promise<void> {
  const reader = stream.getReader()
  const leave = () => void reader.cancel().catch(() => {})
  if (response.destroyed) return leave()
  response.once('close', leave)
  // It may be long before there is anything to say.
  response.flushHeaders()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      response.write(value)
      if (response.writableNeedDrain && (await roomIn(response, stuckMs)) !== 'room') break
    }
  } catch {
    // One that breaks off must not look as if it had ended.
    response.destroy()
  }
  if (response.writableNeedDrain) response.destroy()
  else response.end()
}
