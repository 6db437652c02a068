/**
 * A name that can be sent. Models make up names of tools (`functions.look_up`, or none at all), and are told that there is no such
 * tool; but a conversation that holds one is refused: `string does not match pattern '^[a-zA-Z0-9_-]+$'`.
 */
export function sendableName(name: string): string {
  return name.replace(/[^\w-]/g, '_').slice(0, 64) || '_'
}
