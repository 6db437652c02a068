import { forEachChild, parse, type SyntaxNode } from 'unbash'

/**
 * Whether a line starts something in the background (`server &`) and neither waits for it nor kills
 * it.
 */
export function leavesBehind(line: string): boolean {
  let found = false
  const stack: SyntaxNode[] = [parse(line)]
  for (let node = stack.pop(); node; node = stack.pop()) {
    if (node.type === 'Command' && ['wait', 'kill'].includes(node.name?.value ?? '')) return false
    if (node.type === 'Statement' && node.background) found = true
    forEachChild(node, (child) => void stack.push(child))
  }
  return found
}
