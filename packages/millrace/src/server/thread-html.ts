import type { ExportedThread } from '../protocol/index.ts'
import { fillThreadHtml } from '../protocol/index.ts'
import { standaloneTemplate } from './page.ts'

export interface ThreadHtmlOptions {
  /** The time of the export, in milliseconds since the Unix epoch. Default: now. */
  readonly at?: number | undefined
}

/**
 * An exported thread as one HTML file, which shows and replays it without a server, and from which
 * it can be imported again. Export it with `{ split: true }`, so that texts are replayed word by
 * word.
 */
export async function threadHtml(
  exported: ExportedThread,
  { at = Date.now() }: ThreadHtmlOptions = {},
): Promise<string> {
  return fillThreadHtml(await standaloneTemplate(), exported, at)
}
