/** What is wrong with the Node that runs this, as a sentence; undefined if nothing is, and where it is something else than Node. */
export function nodeProblem(versions: Readonly<Record<string, string | undefined>> = {}): string | undefined {
  const { node, bun, deno } = versions
  // Those two name a Node that they are like, and may well be ahead of it.
  if (!node || bun || deno) return undefined
  const [major = 0, minor = 0] = node.split('.').map(Number)
  // As in `engines` of package.json.
  return major + minor / 100 < 22.13 ? `millrace needs Node 22.13 or newer, and this is ${node}` : undefined
}
