/** Downloads a file. */
export function download(name: string, pieces: readonly string[], type: string): void {
  const address = URL.createObjectURL(new Blob([...pieces], { type }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  // The click has started the download by then.
  setTimeout(() => URL.revokeObjectURL(address))
}
