import type { FileHandle } from 'node:fs/promises'
import type { JsonSchema } from 'millrace'
import { type Tool, type ToolContext, tool, toolContent } from 'millrace'
import { callDisplay } from '../display.ts'
import { editorFile } from './editor-file.ts'
import { quotedPath } from './failures.ts'
import { lineText, numbered, readLines, utf8Chunks } from './lines.ts'
import { requirePermission } from './permit.ts'
import { firstNames, similarNames } from './similar-names.ts'
import {
  binaryKindOf,
  decodeFile,
  encodingOf,
  imageTypeOf,
  isDecodingError,
  notText,
  sizeOf,
} from './text.ts'
import { notRegular, openResolved, type ResolvedPath, type Workspace } from './workspace.ts'

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
      offset: { type: 'integer', minimum: 1, description: 'The first line to return, from 1' },
      limit: { type: 'integer', minimum: 1, description: 'How many lines to return; 2000 by default' },
    },
    required: ['path'],
    additionalProperties: false,
  },
}

const headBytes = 8192
const maxLines = 2000
const maxLineChars = 2000
// How much more is read to count the remaining lines; takes a fraction of a second.
const countBytes = 64 * 2 ** 20

export interface ReadOptions {
  readonly maxReadBytes: number
  readonly maxImageBytes: number
}

export function readFileTool(workspace: Workspace, options: ReadOptions): Tool {
  return tool({
    name: 'read_file',
    description: `Read a file of the workspace. Each line of text is prefixed with its number and a tab, which are not part of the file. Read long files in parts with offset and limit. Images (PNG, JPEG, GIF, WebP) are shown. Other binary files cannot be read.`,
    input,
    repeat: 'safe',
    maxResultChars: options.maxReadBytes + 1000,
    access: ({ path }) => workspace.access('read', path),
    display: ({ path, offset }) =>
      callDisplay({
        kind: 'read',
        title: `Read ${path}`,
        locations: workspace.shown(path).map((path) => ({ path, ...(offset && { line: offset }) })),
      }),
    run: (input, context: ToolContext) =>
      workspace.at(input.path, (resolved) => readResolved(workspace, resolved, input, options, context)),
  })
}

async function readResolved(
  workspace: Workspace,
  resolved: ResolvedPath,
  input: ReadInput,
  options: ReadOptions,
  context: ToolContext,
) {
  const { path, stats } = resolved
  if (!stats) {
    await requirePermission(context, 'read', path)
    throw new Error(
      `There is no file ${quotedPath(path)} in the workspace${await similarNames(resolved, context)}.`,
    )
  }
  if (stats.isDirectory()) {
    await requirePermission(context, 'read', path)
    throw new Error(
      `${quotedPath(path)} is a folder: list_files shows what is in it, such as ${await firstNames(resolved)}.`,
    )
  }
  if (!stats.isFile()) throw notRegular(path, stats)
  const { file, stats: opened } = await openResolved(resolved)
  try {
    // Checked again for the file that is open now: it may have changed since the call was allowed.
    await requirePermission(context, 'read', path)
    const head = Buffer.alloc(headBytes)
    const { bytesRead } = await file.read(head, 0, headBytes, 0)
    const start = head.subarray(0, bytesRead)
    const mediaType = imageTypeOf(start)
    if (mediaType) return await readImage(file, path, mediaType, opened.size, options)
    const kind = binaryKindOf(start)
    if (kind) throw notText(path, kind, opened.size)
    const encoding = encodingOf(start)
    const text = await editorFile(workspace, resolved, encoding, context)?.read?.()
    // Not every editor reports text that it could not decode.
    if (text?.includes('\ufffd')) decodeFile(await file.readFile(), path)
    const chunks =
      text === undefined
        ? utf8Chunks(file, encoding, context.signal)
        : [Buffer.from(text.replace(/^\ufeff/, ''))]
    return await readText(chunks, path, opened.size, input, options)
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
      `${quotedPath(path)} is an image (${mediaType}) of ${sizeOf(size)}, but images can have at most ${sizeOf(maxImageBytes)}: create a smaller copy first.`,
    )
  // The file may shrink while it is read. If it grows, the rest is ignored.
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
  chunks: AsyncIterable<Buffer> | Iterable<Buffer>,
  path: string,
  size: number,
  { offset = 1, limit = maxLines }: ReadInput,
  { maxReadBytes }: ReadOptions,
): Promise<string> {
  const shown: string[] = []
  let bytesShown = 0
  const take = (number: number, bytes: Buffer, whole: boolean): boolean => {
    const { text, cut } = lineText(bytes, whole, maxLineChars)
    const line = numbered(number, cut ? `${text}… [line cut at ${maxLineChars} characters]` : text)
    bytesShown += Buffer.byteLength(line) + 1
    // Always return the first line, otherwise reading could not continue.
    if (bytesShown > maxReadBytes && shown.length > 0) return false
    shown.push(line)
    return shown.length < limit
  }
  try {
    const maxLineBytes = maxLineChars * 4
    const { lines, ended } = await readLines(chunks, { from: offset, maxLineBytes, take, countBytes })
    if (lines === 0) return '[the file is empty]'
    if (shown.length === 0)
      throw new Error(
        `${quotedPath(path)} has only ${lines} ${lines === 1 ? 'line' : 'lines'}: use a smaller offset.`,
      )
    return [...shown, ...noteOn(offset, offset + shown.length - 1, ended ? lines : undefined)].join('\n')
  } catch (error) {
    if (isDecodingError(error)) throw notText(path, 'not valid UTF-8 text', size)
    throw error
  }
}

/** A note about which part of the file was returned, unless it is complete. */
function noteOn(first: number, last: number, lines: number | undefined): string[] {
  if (lines === undefined) return [`[lines ${first}–${last}, and there are more: use offset ${last + 1}]`]
  if (last < lines) return [`[lines ${first}–${last} of ${lines}: use offset ${last + 1} for more]`]
  return first > 1 ? [`[lines ${first}–${last} of ${lines}: end of file]`] : []
}
