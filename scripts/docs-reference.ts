import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseSync } from 'rolldown/utils'
import { declarationsOf } from './declarations.ts'
import { publishOrder, readPackages } from './release/workspace.ts'

// Writes one page for each entry point, with every export, from the declarations of the build: for `npm run docs`. The pages are
// not committed.
const root = fileURLToPath(new URL('..', import.meta.url))
const folder = join(root, 'docs', 'reference', 'api')

interface Declaration {
  readonly name: string
  readonly isValue: boolean
  readonly doc: string
  readonly code: string
}

/** The declarations of an entry point, overloads joined, and which of them it exports. */
function read(source: string): { declarations: Declaration[]; exported: ReadonlySet<string> } {
  const { program, comments } = parseSync('entry.d.ts', source, { lang: 'dts' })
  const found = new Map<string, Declaration>()
  const exported = new Set<string>()
  let last = 0
  for (const statement of program.body) {
    const { start, end } = statement
    if (statement.type === 'ExportNamedDeclaration' && !statement.declaration)
      for (const { exported: name } of statement.specifiers) if ('name' in name) exported.add(name.name)
    const name = nameOf(statement)
    if (name !== undefined) {
      const doc = comments.findLast((one) => one.type === 'Block' && one.start >= last && one.end <= start)
      const code = source.slice(start, end).replace(/^declare /, '')
      const before = found.get(name)
      found.set(name, {
        name,
        isValue: /^(?:async )?(?:function|const|class)\b/.test(code),
        doc: before?.doc || plain(doc?.value ?? ''),
        code: before ? `${before.code}\n${code}` : code,
      })
    }
    last = end
  }
  return {
    declarations: [...found.values()].sort((one, other) => (one.name < other.name ? -1 : 1)),
    exported,
  }
}

function nameOf(statement: object): string | undefined {
  if ('id' in statement && statement.id && typeof statement.id === 'object' && 'name' in statement.id)
    return String(statement.id.name)
  const [first] = 'declarations' in statement ? (statement.declarations as { id: { name: string } }[]) : []
  return first?.id.name
}

/** The text of a documentation comment. */
function plain(comment: string): string {
  return comment
    .replace(/^\*+/, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, ''))
    .join('\n')
    .trim()
}

function page(entry: string, source: string): string {
  const { declarations, exported } = read(source)
  const section = (title: string, all: readonly Declaration[]) =>
    all.length === 0 ? '' : `## ${title}\n\n${all.map(entryText).join('\n')}\n`
  const isExported = ({ name }: Declaration) => exported.has(name)
  return [
    // The search finds the pages that explain things; these would bury them.
    `---\nsearch: false\n---\n\n# ${entry}\n\nEvery export of \`${entry}\`, from its type declarations.\n`,
    section(
      'Functions and values',
      declarations.filter((one) => isExported(one) && one.isValue),
    ),
    section(
      'Types',
      declarations.filter((one) => isExported(one) && !one.isValue),
    ),
    section(
      'Types they refer to',
      declarations.filter((one) => !isExported(one)),
    ),
  ].join('\n')
}

function entryText({ name, doc, code }: Declaration): string {
  // Text outside of code is Vue's: braces and angle brackets would be its markup.
  const safe = doc.replace(/`[^`]*`|[<{]/g, (found) =>
    found === '<' ? '&lt;' : found === '{' ? '&#123;' : found,
  )
  return `### ${name}\n\n${safe && `${safe}\n\n`}\`\`\`ts\n${code}\n\`\`\`\n`
}

rmSync(folder, { recursive: true, force: true })
mkdirSync(folder, { recursive: true })
for (const { folder: packageFolder, manifest } of publishOrder(readPackages(root)))
  for (const [subpath, target] of Object.entries(manifest.exports ?? {})) {
    if (typeof target === 'string' || subpath.startsWith('./internal')) continue
    const entry = manifest.name + subpath.slice(1)
    const source = await declarationsOf(packageFolder, target.types, true)
    writeFileSync(join(folder, `${entry.replace('@', '').replaceAll('/', '-')}.md`), page(entry, source))
  }
