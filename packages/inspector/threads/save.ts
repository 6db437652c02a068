import type { MillraceError, ThreadInfo } from 'millrace/client'
import { exportThread } from 'millrace/client'
import { api } from '../api.ts'
import { download } from '../download.ts'
import { pretty } from '../format.ts'
import { showNotice } from '../state.ts'
import { fileName } from './file-name.ts'

/** The same file as `millrace export --format json`. */
export function saveAsJson(thread: ThreadInfo): Promise<void> {
  return reportErrors(async () => {
    const exported = await exportThread(api.thread(thread.id))
    download(`${fileName(thread)}.json`, [pretty(exported), '\n'], 'application/json')
  })
}

/** The same file as `millrace export --format test`. */
export function saveAsTest(thread: ThreadInfo): Promise<void> {
  return reportErrors(async () => {
    const source = await api.thread(thread.id).testScript()
    download(`${fileName(thread)}.test.ts`, [source], 'text/plain')
  })
}

async function reportErrors(save: () => Promise<void>): Promise<void> {
  try {
    await save()
  } catch (error) {
    showNotice(`Can't export the thread: ${(error as MillraceError).message}`)
  }
}
