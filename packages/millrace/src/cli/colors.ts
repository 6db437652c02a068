import type { WriteStream } from 'node:tty'
import { styleText } from 'node:util'

type Environment = Readonly<Record<string, string | undefined>>

/** Whether to use colors on a stream. FORCE_COLOR takes precedence over NO_COLOR, as in Node. */
export function wantsColor(
  stream: Pick<WriteStream, 'isTTY'> | { readonly isTTY?: boolean },
  env: Environment = process.env,
): boolean {
  const { FORCE_COLOR, NO_COLOR, TERM } = env
  if (FORCE_COLOR !== undefined) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  return stream.isTTY === true && !NO_COLOR && TERM !== 'dumb'
}

/** A less important line for stderr. */
export function dimmed(line: string): string {
  return wantsColor(process.stderr) ? styleText('dim', line, { validateStream: false }) : line
}
