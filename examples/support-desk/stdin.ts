import { fstatSync } from 'node:fs'

const silenceMs = 1000
const longest = 4000

/**
 * What stands on stdin, if anything does. Only files and pipes are read, and a second of silence counts as their end: a CI
 * runner may well leave a pipe open that nobody will ever write to.
 */
export async function questionFromStdin(): Promise<string> {
  const kind = fstatSync(0)
  if (!kind.isFile() && !kind.isFIFO() && !kind.isSocket()) return ''
  const { stdin } = process
  const text = await new Promise<string>((resolve) => {
    let text = ''
    const end = () => resolve(text)
    const silence = setTimeout(end, silenceMs)
    stdin.setEncoding('utf8')
    stdin.on('data', (chunk: string) => {
      text += chunk
      silence.refresh()
      if (text.length > longest) end()
    })
    stdin.on('end', end).on('error', end)
  })
  stdin.destroy()
  return text.slice(0, longest).trim()
}
