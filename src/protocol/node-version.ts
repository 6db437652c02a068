/** The oldest Node that has what is used here, as in `engines` of package.json. */
const oldest = { major: 22, minor: 13 }

/** What is wrong with the Node that runs this, as a sentence; undefined if nothing is, and where it is something else than Node. */
export function nodeProblem(versions: Readonly<Record<string, string | undefined>> = {}): string | undefined {
  const { node, bun, deno } = versions
  // Those two name a Node that they are like, and may well be ahead of it.
  if (node === undefined || bun !== undefined || deno !== undefined) return undefined
  const [major = 0, minor = 0] = node.split('.').map(Number)
  if (major > oldest.major || (major === oldest.major && minor >= oldest.minor)) return undefined
  return `millrace needs Node ${oldest.major}.${oldest.minor} or newer, and this is Node ${node}: install a newer one`
}
