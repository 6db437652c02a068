import { signal } from '@preact/signals'
import type { Entry, ExportedThread, RemoteThread } from 'millrace/client'
import { applyEntry, createView } from 'millrace/view'
import type { Session } from '../session.ts'

/** A session with the log of an exported thread, and without a server. */
export function exportedSession({ thread: { id, agent }, entries }: ExportedThread): Session {
  const log = createView()
  for (const entry of entries) applyEntry(log, entry)
  return {
    // Everything else changes the thread, which a read-only session does not offer.
    thread: { id, read: readFrom(entries), exchanges } as Partial<RemoteThread> as RemoteThread,
    agent: signal(agent),
    isReadOnly: true,
    log,
    entries: [...entries],
    tick: signal(0),
    onChange() {},
    connection: signal('live'),
    problem: signal(''),
    outages: [],
    close() {},
  }
}

const readFrom =
  (entries: readonly Entry[]): RemoteThread['read'] =>
  async ({ after = 0 } = {}) =>
    entries.filter(({ seq }) => seq > after)

async function exchanges(): Promise<never> {
  throw new Error('An export does not contain the requests to the model.')
}
