const maxNameChars = 64

/**
 * A unique tool name for each agent that all clients and models accept: letters, digits, `_` and
 * `-`.
 */
export function toolNames(agents: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set<string>()
  return new Map(
    agents.map((agent) => {
      const plain = agent.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, maxNameChars) || '_'
      let name = plain
      for (let count = 2; taken.has(name); count++) name = `${plain.slice(0, maxNameChars - 5)}_${count}`
      taken.add(name)
      return [agent, name]
    }),
  )
}
