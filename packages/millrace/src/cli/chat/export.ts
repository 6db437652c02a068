import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { invalidInput, isObject, writeTranscript } from '../../protocol/index.ts'
import type { Thread } from '../../threads/index.ts'
import { safeJson } from '../json-lines.ts'
import { markdownOf } from '../markdown-export.ts'

/** Writes a conversation to a file that is not there yet: for people, or as a transcript if its name ends in `.json`. */
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
      throw invalidInput('chat', `there is a file ${file} already: name another one`)
    throw error
  }
  return file
}
