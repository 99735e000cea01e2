From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.classical Require Import boolp classical_sets mathcomp_extra.
From mathcomp.analysis Require Import reals sequences exp.
From mathcomp.analysis.altreals Require Import xfinmap realseq realsum distr.
From Sparsegate Require Import privacy sums geometric gate transcripts.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Comparison.
Context {R : realType}.
Implicit Types (a : R) (q T kappa rho s d : int) (b : bool).

(** ABOVE where q + nu >= T + rho + kappa. *)
Definition one_sided a q T kappa rho : {distr bool / R} :=
  \dlet_(nu <- geometric a) dunit (T + rho + kappa <= q + nu).

Lemma one_sided_sums_to_one a q T kappa rho : 0 < a -> psum (one_sided a q T kappa rho) = 1.
Proof.
move=> a0; apply: dlet_sums_to_one; first exact: geometric_sums_to_one.
by move=> nu; apply: dunit_sums_to_one.
Qed.

Lemma one_sidedE a q T kappa rho b :
  one_sided a q T kappa rho b =
  \P_[geometric a] (fun nu => (T + rho + kappa - q <= nu) == b).
Proof.
rewrite /one_sided dletE; apply: eq_psum => nu /=.
by rewrite dunit1E mulrC ler_subl_addl.
Qed.

(** rho is matched with rho + s and the answer moves by d, so the comparison moves by s - d. An ABOVE
    pays the ratio of two tails; a BELOW gets likelier where d <= s. *)
Lemma one_sided_ratio a q q' T kappa rho s (w : int) b :
  0 < a -> 0 <= w -> s - (q' - q) <= w -> b || (q' - q <= s) ->
  one_sided a q T kappa rho b <=
  expR (if b then a * w%:~R else 0) * one_sided a q' T kappa (rho + s) b.
Proof.
move=> a0 w0 dw; rewrite !one_sidedE.
have -> : T + (rho + s) + kappa - q' = T + rho + kappa - q + (s - (q' - q)).
  by rewrite opprB !addrA (addrAC _ s kappa) (addrAC _ s q) subrK.
move: (T + rho + kappa - q) => x; rewrite -subr_ge0; move: (s - _) dw => d dw.
have tailE y : \P_[geometric a] (fun nu => (y <= nu) == true) = geometric_tail a y.
  by apply: eq_pr => z; rewrite !unfold_in eqb_id.
case: b => [_|/= d0]; rewrite ?tailE.
- apply: le_trans (geometric_tail_ratio x a0 w0) _.
  rewrite ler_wpmul2l ?(ltW (expR_gt0 _)) //; apply: subset_pr => z; rewrite !unfold_in.
  by apply: le_trans; rewrite ler_add2l.
rewrite expR0 mul1r; apply: subset_pr => z; rewrite !unfold_in !eqbF_neg -!ltNge => lt.
by apply: lt_le_trans lt _; rewrite ler_addl.
Qed.

End Comparison.

(** L(m,k): [e1] is what a shift of rho by Delta costs, [r] what one of a comparison does. *)
Definition exponential_loss {R : realType} (u : way) (e1 r : R) (m k : nat) : R :=
  match u with
  | Any => if (m == 0)%N then k%:R * r else e1 + k%:R * (2%:R * r)
  | Up => if (m == 0)%N then 0 else e1 + k%:R * r
  | Down => k%:R * r
  end.

Lemma exponential_loss_le {R : realType} u (e1 r : R) m k :
  0 <= e1 -> 0 <= r -> exponential_loss u e1 r m k <= e1 + k%:R * ((reach u)%:R * r).
Proof.
move=> e0 r0; case: u => /=; rewrite ?mul1r; try case: eqP => _ //.
- apply: ler_paddl => //; rewrite ler_wpmul2l ?ler0n //.
  by rewrite ler_pemull // ler1n.
- by rewrite addr_ge0 // mulr_ge0 ?ler0n.
by apply: ler_paddl.
Qed.

Section Likelihood.
Context {R : realType} {H : choiceType}.
Implicit Types (e a : R) (q T : H -> int) (kappa : int) (l : seq (H * bool)).

Definition below l := count negb [seq y.2 | y <- l].
Definition above l := count id [seq y.2 | y <- l].

Lemma exponential_aligned e a q q' T kappa (s w : int) l :
  0 < e -> 0 < a -> 0 <= s -> 0 <= w -> (forall h, s - w <= q' h - q h) ->
  (forall h, q' h - q h <= s) \/ below l = 0%N ->
  likelihood (geometric e) (fun h => one_sided a (q h) (T h) kappa) l <=
  expR (e * s%:~R + (above l)%:R * (a * w%:~R)) *
  likelihood (geometric e) (fun h => one_sided a (q' h) (T h) kappa) l.
Proof.
move=> e0 a0 s0 w0 lo hi.
have := @likelihood_aligned R H _ (geometric e) (fun h => one_sided a (q h) (T h) kappa)
  (fun h => one_sided a (q' h) (T h) kappa) l s (e * s%:~R)
  (fun y => if y.2 then a * w%:~R else 0).
rewrite (sum_by_kind id) mulr0 addr0; apply.
- by move=> rho; apply: geometric_mass_ratio.
move=> [h b] hb rho; apply: one_sided_ratio => //=.
  by rewrite ler_subl_addr -ler_subl_addl.
case: hi => [->|/eqP]; first by rewrite orbT.
rewrite -leqn0 leqNgt -has_count => /hasPn/(_ b).
by rewrite (map_f snd hb) negbK => ->.
Qed.

Lemma exponential_likelihood u e a (D : nat) q q' T kappa l :
  0 < e -> 0 < a -> (forall h, moves u D (q' h - q h)) ->
  likelihood (geometric e) (fun h => one_sided a (q h) (T h) kappa) l <=
  expR (exponential_loss u (e * D%:R) (a * D%:R) (below l) (above l)) *
  likelihood (geometric e) (fun h => one_sided a (q' h) (T h) kappa) l.
Proof.
move=> e0 a0 mv.
have lo h : - D%:Z <= q' h - q h by have [] := moves_bound (mv h).
have hi h : q' h - q h <= D%:Z by have [] := moves_bound (mv h).
have r2 : a * D%:Z%:~R + a * D%:Z%:~R = 2%:R * (a * D%:R) by rewrite mulrDl !mul1r.
suff [s [w [s0 w0 lo_s hi_s <-]]] : exists s w : int, [/\ 0 <= s, 0 <= w,
    forall h, s - w <= q' h - q h, (forall h, q' h - q h <= s) \/ below l = 0%N &
    e * s%:~R + (above l)%:R * (a * w%:~R) =
    exponential_loss u (e * D%:R) (a * D%:R) (below l) (above l)].
  exact: exponential_aligned.
case: u mv => mv /=; try (case: eqP => [none|_]).
- by exists 0, D%:Z; split=> //; [move=> h; rewrite sub0r | right | rewrite mulr0 add0r].
- exists D%:Z, (D%:Z + D%:Z); split=> //; last by rewrite intrD mulrDr r2.
    by move=> h; rewrite opprD addrA subrr sub0r.
  by left.
- exists 0, 0; split=> //; [|by right|by rewrite !mulr0 addr0].
  by move=> h; rewrite subr0; case/andP: (mv h).
- exists D%:Z, D%:Z; split=> //; last by left.
  by move=> h; rewrite subrr; case/andP: (mv h).
exists 0, D%:Z; split=> //; [by move=> h; rewrite sub0r | | by rewrite mulr0 add0r].
by left=> h; case/andP: (mv h).
Qed.

End Likelihood.

Section ExponentialGate.
Context {R : realType}.
Implicit Types (e a : R) (q T : seq bool -> int) (kappa : int) (t : seq bool).

Definition exponential_gate e a c q T kappa n : {distr (seq bool) / R} :=
  gate (geometric e) (closes_after c id) (fun h => one_sided a (q h) (T h) kappa) n.

Theorem exponential_gate_sums_to_one e a c q T kappa n :
  0 < e -> 0 < a -> psum (exponential_gate e a c q T kappa n) = 1.
Proof.
move=> e0 a0; apply: gate_sums_to_one; first exact: geometric_sums_to_one.
by move=> h rho; apply: one_sided_sums_to_one.
Qed.

Theorem exponential_gate_transcript u e a (D c : nat) q q' T kappa n t :
  0 < e -> 0 < a -> (forall h, moves u D (q' h - q h)) ->
  exponential_gate e a c q T kappa n t <=
  expR (exponential_loss u (e * D%:R) (a * D%:R) (count negb t) (count id t)) *
  exponential_gate e a c q' T kappa n t.
Proof.
move=> e0 a0 mv; apply: gate_within => _.
by have := exponential_likelihood T kappa (contexts [::] t) e0 a0 mv; rewrite /below /above contexts_answers.
Qed.

(** The headline: scales Delta/eps1 and s c Delta/eps2, any number of questions. *)
Theorem exponential_gate_is_private monotonic eps1 eps2 (D c : nat) q q' T kappa n :
  0 < eps1 -> 0 < eps2 -> (0 < D)%N -> (0 < c)%N -> neighbours monotonic D q q' ->
  let run q := exponential_gate (eps1 / D%:R) (eps2 / (sides monotonic * c * D)%:R) c q T kappa n in
  within (eps1 + eps2) (run q) (run q').
Proof.
move=> eps1_gt0 eps2_gt0 D0 c0 near run; apply: (private_by_positives eps2_gt0 D0 c0 near) => u t mv.
have e0 : 0 < eps1 / D%:R by rewrite divr_gt0 ?ltr0n.
have a0 : 0 < eps2 / (sides monotonic * c * D)%:R.
  by rewrite divr_gt0 // ltr0n !muln_gt0 c0 D0; case: (monotonic).
apply: le_trans (exponential_gate_transcript c T kappa n t e0 a0 mv) _.
rewrite ler_wpmul2r // ler_expR divfK ?pnatr_eq0 -?lt0n //.
by apply: exponential_loss_le; [exact: ltW | rewrite mulr_ge0 ?ler0n ?(ltW a0)].
Qed.

End ExponentialGate.
