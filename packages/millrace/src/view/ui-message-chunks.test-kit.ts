import type { UIMessageChunk as AiChunk, UIMessage as AiMessage } from 'ai'
import { readUIMessageStream, uiMessageChunkSchema } from 'ai'
import type { Entry, ThreadEvent } from '../protocol/index.ts'
import type { UIMessageChunksOptions } from './ui-message-chunks.ts'
import { uiMessageChunks } from './ui-message-chunks.ts'
import type { UIMessageChunk } from './ui-message-types.ts'

/** Events as the entries of a log, numbered from 1, ten milliseconds apart. */
export function entriesOf(events: readonly ThreadEvent[]): Entry[] {
  return events.map((event, index) => ({ seq: index + 1, at: 1000 + 10 * index, event }))
}

/** The chunks of one answer, from its first to its last. */
export function chunksOf(
  entries: readonly Entry[],
  options: UIMessageChunksOptions = { head: entries.length },
): UIMessageChunk[] {
  const fold = uiMessageChunks(options)
  const chunks: UIMessageChunk[] = []
  for (const entry of entries) {
    chunks.push(...fold.applyEntry(entry))
    if (fold.isDone) break
  }
  return [...chunks, ...fold.end()]
}

/** The message that the AI SDK builds from chunks. Throws if one of them is not valid. */
export async function messageOf(
  chunks: readonly UIMessageChunk[],
  message?: AiMessage,
): Promise<AiMessage | undefined> {
  const { validate } = uiMessageChunkSchema()
  for (const chunk of chunks) {
    const result = await validate?.(chunk)
    if (!result?.success) throw new Error(`not a chunk: ${JSON.stringify(chunk)}`)
  }
  // Our type must be one of the package's.
  const stream = new ReadableStream<AiChunk>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk)
      controller.close()
    },
  })
  let last = message
  for await (const next of readUIMessageStream({
    stream,
    ...(message && { message: structuredClone(message) }),
    terminateOnError: true,
  }))
    last = next
  // Fields without a value do not survive a request.
  return last && (JSON.parse(JSON.stringify(last)) as AiMessage)
}
