import { createHash } from 'node:crypto'
import { replaceUnseen } from 'millrace/internal'

/**
 * Gives each tool of a server a name that every provider accepts. A tool keeps its name as long as this lives, whatever comes
 * and goes beside it: rules and transcripts speak of it by that.
 */
export function toolNames(prefix: string | undefined): (name: string) => string {
  const given = new Map<string, string>()
  // What a provider asks a person goes to the tool of that name: no server may answer for them.
  const taken = new Set<string>(['mcp_approval'])
  return (name) => {
    const known = given.get(name)
    if (known !== undefined) return known
    const wanted = fitting(prefix === undefined ? name : `${prefix}_${name}`)
    let found = wanted
    for (let number = 2; taken.has(found); number++) {
      const suffix = `_${number}`
      found = `${wanted.slice(0, longest - suffix.length)}${suffix}`
    }
    given.set(name, found)
    taken.add(found)
    return found
  }
}

const longest = 64

function fitting(name: string): string {
  const clean = replaceUnseen(name, () => '').replace(/[^\w-]/g, '_') || '_'
  if (clean.length <= longest) return clean
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8)
  return `${clean.slice(0, longest - hash.length - 1)}_${hash}`
}
