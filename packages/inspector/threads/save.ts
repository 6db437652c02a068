import type { MillraceError, ThreadInfo } from 'millrace/client'
import { exportThread } from 'millrace/client'
import { api } from '../api.ts'
import { download } from '../download.ts'
import { pretty } from '../format.ts'
import { say } from '../state.ts'
import { fileName } from './file-name.ts'

/** The same as `millrace export --format json` writes. */
export function saveAsJson(thread: ThreadInfo): Promise<void> {
  return saved(async () => {
    const exported = await exportThread(api.thread(thread.id))
    download(`${fileName(thread)}.json`, [pretty(exported), '\n'], 'application/json')
  })
}

/** The same as `millrace export --format test` writes. */
export function saveAsTest(thread: ThreadInfo): Promise<void> {
  return saved(async () => {
    const source = await api.thread(thread.id).testScript()
    download(`${fileName(thread)}.test.ts`, [source], 'text/plain')
  })
}

async function saved(save: () => Promise<void>): Promise<void> {
  try {
    await save()
  } catch (error) {
    say(`The thread cannot be exported: ${(error as MillraceError).message}`)
  }
}
