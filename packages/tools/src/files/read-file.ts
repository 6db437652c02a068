import type { FileHandle } from 'node:fs/promises'
import type { JsonSchema } from 'millrace'
import { type Tool, type ToolContext, tool, toolContent } from 'millrace'
import { named } from './failures.ts'
import { lineText, numbered, readLines, utf8Chunks } from './lines.ts'
import { likeNames, namesShown } from './nearby.ts'
import { mustPermit } from './permit.ts'
import { binaryKindOf, encodingOf, imageTypeOf, isDecodingFault, notText, sizeOf } from './text.ts'
import { notRegular, openPlace, type Place, type Workspace } from './workspace.ts'

interface ReadInput {
  readonly path: string
  readonly offset?: number
  readonly limit?: number
}

const input: JsonSchema<ReadInput> = {
  jsonSchema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Relative to the workspace' },
      offset: { type: 'integer', minimum: 1, description: 'The first line to show, from 1' },
      limit: { type: 'integer', minimum: 1, description: 'How many lines to show (2000)' },
    },
    required: ['path'],
    additionalProperties: false,
  },
}

const headBytes = 8192
const maxLines = 2000
const maxLineChars = 2000
// So much more is read to say how many lines there are: it takes a fraction of a second.
const countBytes = 64 * 2 ** 20

export interface ReadOptions {
  readonly maxReadBytes: number
  readonly maxImageBytes: number
}

export function readFileTool(workspace: Workspace, options: ReadOptions): Tool {
  return tool({
    name: 'read_file',
    description: `Read a file of the workspace. Text comes with each line's number and a tab before it, which are not part of the file; long files in parts, by offset and limit. Pictures (PNG, JPEG, GIF, WebP) are shown. Other binary files cannot be read.`,
    input,
    repeat: 'safe',
    maxResultChars: options.maxReadBytes + 1000,
    access: ({ path }) => workspace.access('read', path),
    run: (input, context: ToolContext) =>
      workspace.at(input.path, (place) => readPlace(place, input, options, context)),
  })
}

async function readPlace(place: Place, input: ReadInput, options: ReadOptions, context: ToolContext) {
  const { path, stats } = place
  if (!stats) {
    await mustPermit(context, 'read', path)
    throw new Error(`There is no file ${named(path)} in the workspace${await likeNames(place, context)}.`)
  }
  if (stats.isDirectory()) {
    await mustPermit(context, 'read', path)
    throw new Error(
      `${named(path)} is a folder: list_files shows what is in it, such as ${await namesShown(place)}.`,
    )
  }
  if (!stats.isFile()) throw notRegular(path, stats)
  const { file, stats: opened } = await openPlace(place)
  try {
    // Asked again of the very file that is open now: it may be another than when the call was let through.
    await mustPermit(context, 'read', path)
    const head = Buffer.alloc(headBytes)
    const { bytesRead } = await file.read(head, 0, headBytes, 0)
    const start = head.subarray(0, bytesRead)
    const mediaType = imageTypeOf(start)
    if (mediaType) return await readImage(file, path, mediaType, opened.size, options)
    const kind = binaryKindOf(start)
    if (kind) throw notText(path, kind, opened.size)
    return await readText(file, start, path, opened.size, input, options, context.signal)
  } finally {
    await file.close()
  }
}

async function readImage(
  file: FileHandle,
  path: string,
  mediaType: string,
  size: number,
  { maxImageBytes }: ReadOptions,
) {
  if (size > maxImageBytes)
    throw new Error(
      `${named(path)} is a picture (${mediaType}) of ${sizeOf(size)}, and only ones of up to ${sizeOf(maxImageBytes)} can be shown: make a smaller copy first.`,
    )
  // It may shrink while it is read. If it grows, that is not shown.
  const data = Buffer.alloc(size)
  let length = 0
  for (let more = 1; more > 0 && length < size; length += more)
    more = (await file.read(data, length, size - length, length)).bytesRead
  return toolContent([
    { type: 'text', text: `${path}: ${mediaType}, ${sizeOf(length)}` },
    { type: 'image', data: data.subarray(0, length), mediaType },
  ])
}

async function readText(
  file: FileHandle,
  head: Buffer,
  path: string,
  size: number,
  { offset = 1, limit = maxLines }: ReadInput,
  { maxReadBytes }: ReadOptions,
  signal: AbortSignal,
): Promise<string> {
  const shown: string[] = []
  let bytesShown = 0
  const take = (number: number, bytes: Buffer, whole: boolean): boolean => {
    const { text, cut } = lineText(bytes, whole, maxLineChars)
    const line = numbered(number, cut ? `${text}… [line cut at ${maxLineChars} characters]` : text)
    bytesShown += Buffer.byteLength(line) + 1
    // The first line is shown in any case, else there would be no way on.
    if (bytesShown > maxReadBytes && shown.length > 0) return false
    shown.push(line)
    return shown.length < limit
  }
  try {
    const chunks = utf8Chunks(file, encodingOf(head), signal)
    const maxLineBytes = maxLineChars * 4
    const { lines, ended } = await readLines(chunks, { from: offset, maxLineBytes, take, countBytes })
    if (lines === 0) return '[the file is empty]'
    if (shown.length === 0)
      throw new Error(
        `${named(path)} has only ${lines} ${lines === 1 ? 'line' : 'lines'}: give an offset of at most that.`,
      )
    return [...shown, ...noteOn(offset, offset + shown.length - 1, ended ? lines : undefined)].join('\n')
  } catch (error) {
    if (isDecodingFault(error)) throw notText(path, 'not text in UTF-8', size)
    throw error
  }
}

/** What part of the file was shown, unless it was all. */
function noteOn(first: number, last: number, lines: number | undefined): string[] {
  if (lines === undefined) return [`[lines ${first}–${last}, and there are more: give offset ${last + 1}]`]
  if (last < lines) return [`[lines ${first}–${last} of ${lines}: give offset ${last + 1} for more]`]
  return first > 1 ? [`[lines ${first}–${last} of ${lines}: the end]`] : []
}
