/**
 * An error message if the running Node is too old. Undefined otherwise, and for every other
 * runtime.
 */
export function nodeProblem(versions: Readonly<Record<string, string | undefined>> = {}): string | undefined {
  const { node, bun, deno } = versions
  // Bun and Deno report a Node version for compatibility, regardless of what they support.
  if (!node || bun || deno) return undefined
  const [major = 0, minor = 0] = node.split('.').map(Number)
  // Keep in sync with `engines` in package.json.
  return major + minor / 100 < 22.13 ? `millrace needs Node 22.13 or newer, but this is ${node}` : undefined
}
