import { createInterface } from 'node:readline'

const { stdin, stdout } = process

/** Asks for one line. Undefined if the person pressed Ctrl-C or Ctrl-D instead. `history` is added to, and offered by the arrow keys. */
export function ask(prompt: string, history: string[] = []): Promise<string | undefined> {
  return new Promise((resolve) => {
    // One interface for each question: between two of them, nothing that is typed may be echoed into the answer.
    const reader = createInterface({
      input: stdin,
      output: stdout,
      prompt,
      history,
      removeHistoryDuplicates: true,
    })
    reader.on('history', (lines) => history.splice(0, history.length, ...lines))
    reader.once('line', (line) => {
      resolve(line)
      reader.close()
    })
    reader.once('SIGINT', () => reader.close())
    reader.once('close', () => resolve(undefined))
    reader.prompt()
  })
}

/** Calls back on every Ctrl-C until the function it returns is called. All other keys are swallowed meanwhile. */
export function onCtrlC(act: () => void): () => void {
  const hear = (keys: Buffer | string) => {
    if (keys.toString().includes('\x03')) act()
  }
  // Raw: keys are not echoed, and Ctrl-C is a byte like any other. A signal from elsewhere means the same.
  stdin.setRawMode(true)
  stdin.on('data', hear).resume()
  process.on('SIGINT', act)
  return () => {
    process.off('SIGINT', act)
    stdin.off('data', hear).pause()
    stdin.setRawMode(false)
  }
}
