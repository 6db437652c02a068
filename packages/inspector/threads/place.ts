/** Below the button if there is room, otherwise above, and never beyond the edge. */
export function placeOf(button: DOMRect, menu: DOMRect): { readonly left: number; readonly top: number } {
  const below = button.bottom + 2
  const fits = below + menu.height <= innerHeight
  return {
    left: Math.max(4, Math.min(button.right - menu.width, innerWidth - menu.width - 4)),
    top: fits ? below : Math.max(4, button.top - menu.height - 2),
  }
}
