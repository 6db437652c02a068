const longest = 64

/** A name for the tool of each agent, fit for every client and model: letters, digits, `_` and `-`, none of them twice. */
export function toolNames(agents: readonly string[]): ReadonlyMap<string, string> {
  const taken = new Set<string>()
  return new Map(
    agents.map((agent) => {
      const plain = agent.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, longest) || '_'
      let name = plain
      for (let count = 2; taken.has(name); count++) name = `${plain.slice(0, longest - 5)}_${count}`
      taken.add(name)
      return [agent, name]
    }),
  )
}
