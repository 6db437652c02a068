import type { JsonSchema } from 'millrace'
import { type Tool, type ToolContext, tool } from 'millrace'
import { callDisplay } from '../display.ts'
import { queueChange } from './change-queue.ts'
import { editorFile } from './editor-file.ts'
import { applyEdits, type Edit, type Edited, lineAt } from './edits.ts'
import { quotedPath } from './failures.ts'
import { numbered } from './lines.ts'
import { requirePermission } from './permit.ts'
import { replaceFile } from './replace.ts'
import { similarNames } from './similar-names.ts'
import { binaryKindOf, decodeFile, encodeText, notText, sizeOf } from './text.ts'
import { notRegular, openResolved, type ResolvedPath, type Workspace } from './workspace.ts'

interface EditInput extends Partial<Edit> {
  readonly path: string
  readonly edits?: readonly Edit[]
}

const edit = {
  old_text: { type: 'string', description: 'The text to replace, exactly as in the file' },
  new_text: { type: 'string', description: 'The replacement' },
  replace_all: { type: 'boolean', description: 'Replace all occurrences' },
}

const input: JsonSchema<EditInput> = {
  jsonSchema: {
    type: 'object',
    properties: {
      path: { type: 'string', description: 'Relative to the workspace' },
      ...edit,
      edits: {
        type: 'array',
        description: 'Several edits, applied in order, all or none; instead of old_text and new_text',
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

// Files are edited in memory. A larger one was hardly written by hand.
const maxBytes = 32 * 2 ** 20
const maxShown = 20
const maxLineChars = 500

export function editFileTool(workspace: Workspace): Tool {
  return tool({
    name: 'edit_file',
    description:
      'Replace text in a file of the workspace. old_text must occur exactly once, including spaces and line breaks (without the line numbers that read_file shows), unless replace_all is set. Returns the changed lines.',
    input,
    // The result also shows lines of the file.
    access: async ({ path }) => [
      ...(await workspace.access('read', path)),
      ...(await workspace.access('write', path)),
    ],
    display: (input) => {
      const shown = workspace.shown(input.path)
      return callDisplay({
        kind: 'edit',
        title: `Edit ${input.path}`,
        locations: shown.map((path) => ({ path })),
        diff: shown.flatMap((path) =>
          editsOf(input).map(({ old_text, new_text }) => ({ path, oldText: old_text, newText: new_text })),
        ),
      })
    },
    run: async (input, context: ToolContext) => {
      const edits = editsOf(input)
      return queueChange(workspace, input.path, (resolved) =>
        editResolved(workspace, resolved, edits, context),
      )
    },
  })
}

function editsOf({ edits, old_text, new_text, replace_all = false }: EditInput): readonly Edit[] {
  if (edits && (old_text !== undefined || new_text !== undefined))
    throw new Error('Pass either edits, or old_text and new_text, not both.')
  if (edits) return edits
  if (old_text === undefined || new_text === undefined)
    throw new Error('Pass both old_text and new_text, or a list of edits.')
  return [{ old_text, new_text, replace_all }]
}

async function editResolved(
  workspace: Workspace,
  resolved: ResolvedPath,
  edits: readonly Edit[],
  context: ToolContext,
): Promise<string> {
  const { path, stats } = resolved
  if (!stats) {
    await requirePermission(context, 'write', path)
    throw new Error(
      `There is no file ${quotedPath(path)} to edit${await similarNames(resolved, context)}. Use write_file to create a file.`,
    )
  }
  if (!stats.isFile()) throw notRegular(path, stats)
  const { file, stats: opened } = await openResolved(resolved)
  try {
    await requirePermission(context, 'read', path)
    await requirePermission(context, 'write', path)
    if (opened.size > maxBytes)
      throw new Error(
        `${quotedPath(path)} is too large to edit (${sizeOf(opened.size)} of at most ${sizeOf(maxBytes)}).`,
      )
    const bytes = await file.readFile()
    const kind = binaryKindOf(bytes)
    if (kind) throw notText(path, kind, bytes.length)
    const { text, encoding } = decodeFile(bytes, path)
    const { read, write } = editorFile(workspace, resolved, encoding, context) ?? {}
    // With only one of the two, the edit could overwrite changes that are not saved.
    const isInEditor = read && write
    const edited = applyEdits(isInEditor ? await read() : text, edits)
    if (isInEditor) await write(edited.text)
    else
      await replaceFile(resolved, encodeText(edited.text, encoding), {
        signal: context.signal,
        expected: opened,
      })
    const { replaced, spans } = edited
    const line = lineAt(edited.text, spans[0]?.start ?? 0)
    context.progress({ display: { locations: workspace.shown(path).map((path) => ({ path, line })) } })
    return [
      `Edited ${path}: ${replaced} ${replaced === 1 ? 'replacement' : 'replacements'}.`,
      ...excerpt(edited),
    ].join('\n')
  } finally {
    await file.close()
  }
}

/** The inserted lines with one line before and after, up to a limit. */
function excerpt({ text, spans }: Edited): string[] {
  const lines = text.replace(/\r?\n$/, '').split(/\r?\n/)
  const marks = new Map<number, string>()
  for (const { start, end } of spans.toSorted((a, b) => a.start - b.start)) {
    // A pure deletion has no inserted line.
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
