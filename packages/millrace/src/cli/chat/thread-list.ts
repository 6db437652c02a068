import type { ThreadInfo } from '../../protocol/index.ts'
import { cleanLine, clip } from '../terminal/index.ts'
import type { Session } from './session.ts'

const maxListed = 20

/** The latest threads of the app's agents, each with a number and its title. */
export async function listThreads({
  app,
  thread,
}: Pick<Session, 'app' | 'thread'>): Promise<{ ids: readonly string[]; text: string }> {
  const [only] = app.agents
  const agent = app.agents.length === 1 ? only : undefined
  const { threads, next } = await app.threads({ limit: maxListed, ...(agent !== undefined && { agent }) })
  const own = threads.filter((info) => app.agents.includes(info.agent))
  if (own.length === 0) return { ids: [], text: 'no threads yet' }
  const lines = own.map((info, index) => {
    const here = info.id === thread.id ? ', current' : ''
    const title = clip(cleanLine(info.title ?? '…'), 60)
    return `${String(index + 1).padStart(2)}  ${title}  (${stateOf(info)}${here}) ${info.id}`
  })
  const more = next === undefined ? [] : ['There are more; millrace threads lists all of them.']
  const text = [...lines, ...more, 'To open one: /threads and its number or id.'].join('\n')
  return { ids: own.map(({ id }) => id), text }
}

function stateOf({ status, updatedAt }: ThreadInfo): string {
  if (status !== 'idle') return status
  return `${ago(Date.now() - updatedAt)} ago`
}

function ago(ms: number): string {
  const minutes = Math.max(0, Math.floor(ms / 60_000))
  if (minutes < 60) return `${minutes} min`
  return minutes < 48 * 60 ? `${Math.floor(minutes / 60)} h` : `${Math.floor(minutes / 1440)} days`
}
