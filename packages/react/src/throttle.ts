/** Calls `run` at once, and then at most once per frame. Works in hidden tabs, which have no frames. */
export function oncePerFrame(run: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isDue = false
  return function request() {
    isDue = timer !== undefined
    if (isDue) return
    timer = setTimeout(() => {
      timer = undefined
      if (isDue) request()
    }, 16)
    run()
  }
}
