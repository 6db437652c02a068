/**
 * Makes a tool name valid for a request. Models invent tool names (`functions.look_up`, or an empty
 * one). The call fails, but its name stays in the conversation, and providers would reject every
 * later request: `string does not match pattern '^[a-zA-Z0-9_-]+$'`.
 */
export function sendableName(name: string): string {
  return name.replace(/[^\w-]/g, '_').slice(0, 64) || '_'
}
