import type { MillraceError, ThreadInfo } from 'millrace/client'
import { exportThread } from 'millrace/client'
import { fillThreadHtml } from 'millrace/internal'
import { api } from '../api.ts'
import { download } from '../download.ts'
import { pretty } from '../format.ts'
import { showNotice } from '../state.ts'
import { fileName } from './file-name.ts'

type NamedThread = Pick<ThreadInfo, 'id' | 'title'>

/** The same file as `millrace export --format json`. */
export function saveAsJson(thread: NamedThread): Promise<void> {
  return reportErrors(async () => {
    const exported = await exportThread(api.thread(thread.id))
    download(`${fileName(thread)}.json`, [pretty(exported), '\n'], 'application/json')
  })
}

/** The same file as `millrace export --format html`. */
export function saveAsHtml(thread: NamedThread): Promise<void> {
  return reportErrors(async () => {
    const [exported, template] = await Promise.all([
      exportThread(api.thread(thread.id), { split: true }),
      fetch('./standalone.html').then((response) => response.text()),
    ])
    download(`${fileName(thread)}.html`, [fillThreadHtml(template, exported, Date.now())], 'text/html')
  })
}

/** The same file as `millrace export --format test`. */
export function saveAsTest(thread: NamedThread): Promise<void> {
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
