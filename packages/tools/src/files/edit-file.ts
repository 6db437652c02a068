import type { JsonSchema } from 'millrace'
import { type Tool, type ToolContext, tool } from 'millrace'
import { applyEdits, type Edit, type Edited, lineAt } from './edits.ts'
import { named } from './failures.ts'
import { numbered } from './lines.ts'
import { likeNames } from './nearby.ts'
import { mustPermit } from './permit.ts'
import { replaceFile } from './replace.ts'
import { binaryKindOf, decodeText, encodeText, isDecodingFault, notText, sizeOf } from './text.ts'
import { changeAt } from './turns.ts'
import { notRegular, openPlace, type Place, type Workspace } from './workspace.ts'

interface EditInput extends Partial<Edit> {
  readonly path: string
  readonly edits?: readonly Edit[]
}

const edit = {
  old_text: { type: 'string', description: 'The text to replace, exactly as it stands in the file' },
  new_text: { type: 'string', description: 'What to put there' },
  replace_all: { type: 'boolean', description: 'Replace it everywhere in the file' },
}

const input: JsonSchema<EditInput> = {
  jsonSchema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Relative to the workspace' },
      ...edit,
      edits: {
        type: 'array',
        description:
          'Several edits in one, made in this order, all or none; instead of old_text and new_text',
        minItems: 1,
        items: {
          type: 'object',
          properties: edit,
          required: ['old_text', 'new_text'],
          additionalProperties: false,
        },
      },
    },
    required: ['path'],
    additionalProperties: false,
  },
}

// A file is edited in memory. One that is larger was hardly written by hand.
const maxBytes = 32 * 2 ** 20
const maxShown = 20
const maxLineChars = 500

export function editFileTool(workspace: Workspace): Tool {
  return tool({
    name: 'edit_file',
    description:
      'Replace text in a file of the workspace. old_text must be there exactly once, spaces and line breaks included (without the line numbers that read_file shows), unless replace_all is set. Answers with the lines as they are after it.',
    input,
    // It shows lines of the file, too.
    access: async ({ path }) => [
      ...(await workspace.access('read', path)),
      ...(await workspace.access('write', path)),
    ],
    run: async (input, context: ToolContext) => {
      const edits = editsOf(input)
      return changeAt(workspace, input.path, (place) => editPlace(place, edits, context))
    },
  })
}

function editsOf({ edits, old_text, new_text, replace_all = false }: EditInput): readonly Edit[] {
  if (edits && (old_text !== undefined || new_text !== undefined))
    throw new Error('Give either edits, or old_text and new_text, not both.')
  if (edits) return edits
  if (old_text === undefined || new_text === undefined)
    throw new Error('Give both old_text and new_text, or a list of edits.')
  return [{ old_text, new_text, replace_all }]
}

async function editPlace(place: Place, edits: readonly Edit[], context: ToolContext): Promise<string> {
  const { path, stats } = place
  if (!stats) {
    await mustPermit(context, 'write', path)
    throw new Error(
      `There is no file ${named(path)} to edit${await likeNames(place, context)}. To make a new file use write_file.`,
    )
  }
  if (!stats.isFile()) throw notRegular(path, stats)
  const { file, stats: opened } = await openPlace(place)
  try {
    await mustPermit(context, 'read', path)
    await mustPermit(context, 'write', path)
    if (opened.size > maxBytes)
      throw new Error(
        `${named(path)} is too large to edit (${sizeOf(opened.size)} of at most ${sizeOf(maxBytes)}).`,
      )
    const bytes = await file.readFile()
    const kind = binaryKindOf(bytes)
    if (kind) throw notText(path, kind, bytes.length)
    const { text, encoding } = decode(bytes, path)
    const edited = applyEdits(text, edits)
    await replaceFile(place, encodeText(edited.text, encoding), { signal: context.signal, expected: opened })
    const { replaced } = edited
    return [
      `Edited ${path}: ${replaced} ${replaced === 1 ? 'replacement' : 'replacements'}.`,
      ...excerpt(edited),
    ].join('\n')
  } finally {
    await file.close()
  }
}

function decode(bytes: Buffer, path: string) {
  try {
    return decodeText(bytes)
  } catch (error) {
    throw isDecodingFault(error) ? notText(path, 'not text in UTF-8', bytes.length) : error
  }
}

/** The lines that were put in with one before and one after, a few places at most. */
function excerpt({ text, spans }: Edited): string[] {
  const lines = text.replace(/\r?\n$/, '').split(/\r?\n/)
  const marks = new Map<number, string>()
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    // What was only taken out has no line of its own.
    const [first, last] = [lineAt(text, start), lineAt(text, Math.max(start, end - 1))]
    for (let line = first - 1; line <= last + 1 && marks.size <= maxShown; line++) {
      const inside = start < end && line >= first && line <= last
      if (line >= 1 && line <= lines.length && (inside || !marks.has(line)))
        marks.set(line, inside ? '+' : ' ')
    }
  }
  const shown: string[] = []
  let before: number | undefined
  for (const [line, sign] of [...marks].sort(([a], [b]) => a - b).slice(0, maxShown)) {
    const text = lines[line - 1] ?? ''
    if (before !== undefined && line > before + 1) shown.push('   ...')
    shown.push(numbered(line, text.length > maxLineChars ? `${text.slice(0, maxLineChars)}…` : text, sign))
    before = line
  }
  if (marks.size > maxShown) shown.push('   ... and more')
  return shown
}
