import type { ThreadInfo } from '../../protocol/index.ts'
import { cleanLine, clip } from '../terminal/index.ts'
import type { Session } from './session.ts'

const most = 20

/** The latest conversations that can be gone on with here, each with a number, and the first words of it. */
export async function listThreads({
  app,
  thread,
}: Pick<Session, 'app' | 'thread'>): Promise<{ ids: readonly string[]; words: string }> {
  const [only] = app.agents
  const agent = app.agents.length === 1 ? only : undefined
  const { threads, next } = await app.threads({ limit: most, ...(agent !== undefined && { agent }) })
  const own = threads.filter((info) => app.agents.includes(info.agent))
  if (own.length === 0) return { ids: [], words: 'there are no conversations yet' }
  const lines = own.map((info, index) => {
    const here = info.id === thread.id ? ', this one' : ''
    const begun = clip(cleanLine(info.title ?? '…'), 60)
    return `${String(index + 1).padStart(2)}  ${begun}  (${stateOf(info)}${here}) ${info.id}`
  })
  const more = next === undefined ? [] : ['There are more: millrace threads lists them all.']
  const words = [...lines, ...more, 'To go on with one: /threads and its number, or its id.'].join('\n')
  return { ids: own.map(({ id }) => id), words }
}

function stateOf({ status, updatedAt }: ThreadInfo): string {
  if (status === 'waiting') return 'waits for you'
  if (status !== 'idle') return status
  return `${ago(Date.now() - updatedAt)} ago`
}

function ago(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000))
  if (minutes < 60) return `${minutes} min`
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1440)} days`
}
