import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { invalidInput, isObject, writeTranscript } from '../../protocol/index.ts'
import type { Thread } from '../../threads/index.ts'
import { safeJson } from '../json-lines.ts'
import { markdownOf } from '../markdown-export.ts'

/** Writes a thread to a new file: as Markdown, or as a transcript if the name ends in `.json`. */
export async function exportThread(thread: Thread, name: string): Promise<string> {
  const file = resolve(name || `${thread.id}.md`)
  const view = await thread.state()
  const text = file.endsWith('.json')
    ? `${safeJson({ ...writeTranscript(view.messages), thread: view.id, usage: view.usage }, 2)}\n`
    : markdownOf(view)
  try {
    await writeFile(file, text, { flag: 'wx' })
  } catch (error) {
    if (isObject(error) && error.code === 'EEXIST')
      throw invalidInput('chat', `${file} already exists; choose another name`)
    throw error
  }
  return file
}
