/** A name for the file of a thread: what it is about, in letters that every file system takes, or else its id. */
export function fileName({ id, title = '' }: { readonly id: string; readonly title?: string }): string {
  const words = title
    .normalize('NFC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '-')
  const short = [...words].slice(0, 48).join('').replace(/^-|-$/g, '')
  return short || id
}
