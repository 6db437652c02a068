/**
 * The same answer, which tells once that its body has been read to its end, or is not wanted any more. At once if it has none. The
 * signal ends the body early.
 */
export function onBodyEnd(response: Response, end: () => void, signal?: AbortSignal): Response {
  const reader = response.body?.getReader()
  let isOver = false
  function endOnce() {
    if (!isOver) end()
    isOver = true
  }
  if (!reader) {
    endOnce()
    return response
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        signal?.addEventListener('abort', () => {
          if (isOver) return
          endOnce()
          controller.close()
          void reader.cancel().catch(() => {})
        })
      },
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (!done) return isOver ? undefined : controller.enqueue(value)
          // Cancelled meanwhile, it is closed already.
          if (!isOver) controller.close()
        } catch (error) {
          controller.error(error)
        }
        endOnce()
      },
      cancel(reason) {
        endOnce()
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(body, response)
}
