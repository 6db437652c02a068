/**
 * The same response, which calls `end` once its body has been read to the end or canceled; at once
 * if it has no body. The signal ends the body early.
 */
export function onBodyEnd(response: Response, end: () => void, signal?: AbortSignal): Response {
  const reader = response.body?.getReader()
  let hasEnded = false
  function endOnce() {
    if (!hasEnded) end()
    hasEnded = true
  }
  if (!reader) {
    endOnce()
    return response
  }
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        signal?.addEventListener('abort', () => {
          if (hasEnded) return
          endOnce()
          controller.close()
          void reader.cancel().catch(() => {})
        })
      },
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (!done) return hasEnded ? undefined : controller.enqueue(value)
          // It is already closed if it was canceled in the meantime.
          if (!hasEnded) controller.close()
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
