import { createHash } from 'node:crypto'
import { replaceInvisible } from 'millrace/internal'

/**
 * Maps the tools of a server to names that all providers accept. A tool keeps its name even if other
 * tools come and go: rules and transcripts refer to it.
 */
export function toolNames(prefix: string | undefined): (name: string) => string {
  const given = new Map<string, string>()
  // Reserved for approvals of hosted MCP tools: no server may answer for a person.
  const taken = new Set<string>(['mcp_approval'])
  return (name) => {
    const known = given.get(name)
    if (known !== undefined) return known
    const wanted = fitting(prefix === undefined ? name : `${prefix}_${name}`)
    let found = wanted
    for (let number = 2; taken.has(found); number++) {
      const suffix = `_${number}`
      found = `${wanted.slice(0, maxNameChars - suffix.length)}${suffix}`
    }
    given.set(name, found)
    taken.add(found)
    return found
  }
}

const maxNameChars = 64

function fitting(name: string): string {
  const clean = replaceInvisible(name, () => '').replace(/[^\w-]/g, '_') || '_'
  if (clean.length <= maxNameChars) return clean
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${clean.slice(0, maxNameChars - hash.length - 1)}_${hash}`
}
