import { posix } from 'node:path'
import { parseMarkdown } from './markdown.ts'

/** Links to this repository, as a README on the registry needs them. */
const ownPages = /^https:\/\/github\.com\/millrace\/millrace\/(?:blob|tree)\/main(?=\/)/

/** One line for each broken link of a document to a page of this repository. */
export function linkFaults(
  doc: string,
  docs: ReadonlyMap<string, string>,
  exists: (path: string) => boolean,
): string[] {
  return linksOf(docs.get(doc) ?? '').flatMap(({ line, href }) => {
    const local = href.replace(ownPages, '')
    if (/^([a-z][a-z+.-]*:|\/\/)/i.test(local)) return []
    const [path = '', anchor] = local.split('#').map(decodeURIComponent)
    const target =
      path === '' ? doc : posix.join(path.startsWith('/') ? '' : posix.dirname(doc), path.replace(/^\//, ''))
    const fault = (why: string) => [`${doc}:${line} links to ${href}: ${why}`]
    if (target.startsWith('..')) return fault('it leaves the project')
    if (!exists(target)) return fault(`${target} does not exist`)
    const source = docs.get(target)
    if (anchor === undefined || source === undefined || anchorsOf(source).has(anchor)) return []
    return fault(`${target} has no heading #${anchor}`)
  })
}

const inlineLink = /\]\(\s*<?([^\s<>()]+(?:\([^\s()]*\)[^\s<>()]*)?)>?(?:\s+["'(][^)]*)?\s*\)/g
const linkDefinition = /^\s{0,3}\[(?!\^)[^\]]+\]:\s*<?([^\s>]+)>?/g
const htmlLink = /<(?:a|img)\s[^>]*?(?:href|src)=["']([^"']+)["']/g

function linksOf(source: string): { line: number; href: string }[] {
  return parseMarkdown(source).prose.flatMap((text, index) => {
    const visible = text.replace(/(`+).*?\1/g, '`')
    const matches = [inlineLink, linkDefinition, htmlLink].flatMap((kind) => [...visible.matchAll(kind)])
    return matches.map((match) => ({ line: index + 1, href: match[1] ?? '' }))
  })
}

/** GitHub's anchors of the headings, and anchors set by hand. */
export function anchorsOf(source: string): ReadonlySet<string> {
  const anchors = new Set<string>()
  const seen = new Map<string, number>()
  for (const text of parseMarkdown(source).prose) {
    for (const [, id = ''] of text.matchAll(/<a\s[^>]*?(?:id|name)=["']([^"']+)["']/g)) anchors.add(id)
    const heading = /^ {0,3}#{1,6}\s+(.*?)(?:\s+#+)?\s*$/.exec(text)?.[1]
    if (heading === undefined) continue
    const slug = slugOf(heading)
    const count = seen.get(slug) ?? 0
    seen.set(slug, count + 1)
    anchors.add(count === 0 ? slug : `${slug}-${count}`)
  }
  return anchors
}

function slugOf(heading: string): string {
  return heading
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/<[^>]+>/g, '')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, '')
    .replaceAll(' ', '-')
}
